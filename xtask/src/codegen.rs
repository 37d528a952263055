//! `cargo xtask codegen`: the pages of `docs/strategies/`, one for each plugin.
//!
//! The manual is the module doc comment of the strategy's file, and the table of arguments comes
//! from the function that reads them, so that neither can differ from the program.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use descheduler_engine::{Args, ArgumentDoc, ArgumentType};

use crate::report;
use crate::tidy::registry;

const PAGES: &str = "docs/strategies";

/// Writes every page that is missing or stale, and removes those of strategies that are gone.
pub(crate) fn write(root: &Path) -> Result<()> {
    let differences = differences(root)?;
    for (path, wanted) in &differences {
        let file = root.join(path);
        match wanted {
            Some(text) => {
                std::fs::create_dir_all(root.join(PAGES)).context(PAGES)?;
                std::fs::write(&file, text).with_context(|| path.clone())?;
            }
            None => std::fs::remove_file(&file).with_context(|| path.clone())?,
        }
        report(&format!("{}: {path}", if wanted.is_some() { "written" } else { "removed" }));
    }
    Ok(())
}

/// Fails when `write` would change something.
pub(crate) fn check(root: &Path) -> Result<()> {
    let stale: Vec<String> = differences(root)?.into_keys().collect();
    if !stale.is_empty() {
        bail!("stale: {}; run `cargo xtask codegen` and commit the result", stale.join(", "));
    }
    Ok(())
}

/// The pages that are not as they should be, with the text they should have; none where the page
/// should not exist.
fn differences(root: &Path) -> Result<BTreeMap<String, Option<String>>> {
    let mut found = BTreeMap::new();
    let mut wanted = pages(root)?;
    if let Ok(folder) = std::fs::read_dir(root.join(PAGES)) {
        for entry in folder {
            let entry = entry.context(PAGES)?;
            let path = format!("{PAGES}/{}", entry.file_name().to_string_lossy());
            let text = std::fs::read_to_string(entry.path()).with_context(|| path.clone())?;
            match wanted.remove(&path) {
                Some(page) if page == text => {}
                other => drop(found.insert(path, other)),
            }
        }
    }
    found.extend(wanted.into_iter().map(|(path, text)| (path, Some(text))));
    Ok(found)
}

/// Every page by its path.
fn pages(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut pages = BTreeMap::new();
    for def in descheduler_strategies::ALL {
        let source = registry::source(&registry::snake_case(def.name));
        let page = Page { name: def.name, source, arguments: Args::describe(def.build) };
        pages.insert(registry::page(def.name), page.text(root)?);
    }
    let evictor = descheduler_strategies::REGISTRY.evictor;
    let page = Page {
        name: evictor.name,
        source: registry::EVICTOR_SOURCE.to_owned(),
        arguments: Args::describe(evictor.build),
    };
    pages.insert(registry::page(evictor.name), page.text(root)?);
    Ok(pages)
}

/// What a page is made from.
struct Page {
    name: &'static str,
    /// The file whose module doc comment is the manual.
    source: String,
    arguments: Vec<ArgumentDoc>,
}

impl Page {
    fn text(&self, root: &Path) -> Result<String> {
        let Self { name, source, arguments } = self;
        let code = std::fs::read_to_string(root.join(source)).with_context(|| source.clone())?;
        let manual = manual(&code).with_context(|| format!("{source} has no `//!` lines"))?;
        let mut text = format!(
            "<!-- Made by `cargo xtask codegen` from {source}: edit that. -->\n\n# {name}\n\n\
             {manual}\n\n## Arguments\n\n| argument | type | what it does |\n|---|---|---|\n"
        );
        rows(arguments, "", &mut text);
        Ok(text)
    }
}

/// The module doc comment of a file.
fn manual(code: &str) -> Option<String> {
    let lines: Vec<&str> = code
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let manual = lines.join("\n").trim().to_owned();
    (!manual.is_empty()).then_some(manual)
}

/// A row for each argument, those inside an object after it.
fn rows(arguments: &[ArgumentDoc], prefix: &str, text: &mut String) {
    for argument in arguments {
        let ArgumentDoc { name, doc, kind, default, required, deprecated, children } = argument;
        let mut what = (*doc).to_owned();
        if *required {
            what += " Required.";
        }
        if let Some(default) = default.as_deref().filter(|default| !default.is_empty()) {
            what += &format!(" Default: `{default}`.");
        }
        if let Some(instead) = deprecated {
            what += &format!(" Deprecated: {instead}.");
        }
        *text += &format!("| `{prefix}{name}` | {kind} | {what} |\n");
        let many = matches!(kind, ArgumentType::List(_));
        let inside = format!("{prefix}{name}{}.", if many { "[]" } else { "" });
        rows(children, &inside, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_is_the_module_doc_comment() {
        let code =
            "//! Moves pods.\n//!\n//! ```yaml\n//!   a: 1\n//! ```\n\nuse x;\n//! not this\n";
        assert_eq!(manual(code).as_deref(), Some("Moves pods.\n\n```yaml\n  a: 1\n```"));
        assert_eq!(manual("use x;\n"), None);
    }

    #[test]
    fn arguments_are_rows() {
        let arguments = Args::describe(|args| {
            args.objects("some", "Things.", |thing| {
                thing.arg("size", "How large.").required().value::<u32>();
                thing.arg("old", "Not new.").deprecated("use `new`").flag();
            });
        });
        let mut text = String::new();
        rows(&arguments, "", &mut text);
        assert_eq!(
            text,
            "| `some` | list of object | Things. |\n\
             | `some[].size` | whole number, not negative | How large. Required. |\n\
             | `some[].old` | boolean | Not new. Default: `false`. Deprecated: use `new`. |\n"
        );
    }
}
