//! `cargo xtask codegen`: the pages of `docs/strategies/`, one for each plugin, and the schema of
//! policies.
//!
//! The manual is the module doc comment of the strategy's file, the example is a case that is run as
//! a test, and the table of arguments comes from the function that reads them, so that none of them
//! can differ from the program.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use descheduler_engine::{ArgumentDoc, ArgumentType};
use descheduler_strategies::{Example, MANUALS, Manual, REGISTRY};

use crate::report;
use crate::tidy::registry;

const PAGES: &str = "docs/strategies";
const SCHEMA: &str = "schema/policy-v1alpha2.json";

/// Writes every file that is missing or stale, and removes those of strategies that are gone.
pub(crate) fn write(root: &Path) -> Result<()> {
    let differences = differences(root)?;
    for (path, wanted) in &differences {
        let file = root.join(path);
        match wanted {
            Some(text) => {
                let folder = file.parent().unwrap_or(root);
                std::fs::create_dir_all(folder).with_context(|| path.clone())?;
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

/// The files that are not as they should be, with the text they should have; none where a page
/// should not exist.
fn differences(root: &Path) -> Result<BTreeMap<String, Option<String>>> {
    let mut found = BTreeMap::new();
    let mut wanted = pages();
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
    let schema = format!("{:#}\n", descheduler_policy::schema(&REGISTRY));
    if std::fs::read_to_string(root.join(SCHEMA)).ok().as_ref() != Some(&schema) {
        found.insert(SCHEMA.to_owned(), Some(schema));
    }
    found.extend(wanted.into_iter().map(|(path, text)| (path, Some(text))));
    Ok(found)
}

/// Every page by its path.
fn pages() -> BTreeMap<String, String> {
    MANUALS.iter().map(|manual| (registry::page(manual.name), page(manual))).collect()
}

fn page(manual: &Manual) -> String {
    let Manual { name, source, .. } = manual;
    let text = manual.text();
    let Example { about, scheduler, cluster, before_and_after, plan } = manual.example();
    let mut page = format!(
        "<!-- Made by `cargo xtask codegen` from {source} and the case `example` of its tests: edit \
         those. -->\n\n# {name}\n\n{text}\n\n## Example\n\n{about}\n\n```text\n{cluster}```\n\n"
    );
    if let Some(scheduler) = scheduler {
        page += &format!("kube-scheduler is configured so:\n\n```yaml\n{scheduler}```\n\n");
    }
    page += &format!(
        "With the policy above the pods stand so before and after:\n\n```text\n{before_and_after}```\n\n\
         ```text\n{plan}```\n\n\
         ## Arguments\n\n| argument | type | what it does |\n|---|---|---|\n"
    );
    rows(&manual.arguments(), "", &mut page);
    page
}

/// A row for each argument, those inside an object after it.
fn rows(arguments: &[ArgumentDoc], prefix: &str, text: &mut String) {
    for argument in arguments {
        let ArgumentDoc { name, kind, children, .. } = argument;
        let what = argument.sentences();
        *text += &format!("| `{prefix}{name}` | {kind} | {what} |\n");
        let many = matches!(kind, ArgumentType::List(_));
        let inside = format!("{prefix}{name}{}.", if many { "[]" } else { "" });
        rows(children, &inside, text);
    }
}

#[cfg(test)]
mod tests {
    use descheduler_engine::Args;

    use super::*;

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
