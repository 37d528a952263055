//! `cargo xtask codegen`: the pages of `docs/strategies/`, one for each strategy.
//!
//! A strategy's manual page is the module doc comment of its file, so that the two cannot differ.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

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
    let list = root.join(registry::LIST);
    let Ok(text) = std::fs::read_to_string(&list) else { return Ok(BTreeMap::new()) };
    let mut pages = BTreeMap::new();
    for module in registry::modules(&text) {
        let source = registry::source(&module);
        let text = std::fs::read_to_string(root.join(&source)).with_context(|| source.clone())?;
        let page = page(&module, &text).with_context(|| format!("{source} has no `//!` lines"))?;
        pages.insert(registry::page(&module), page);
    }
    Ok(pages)
}

/// The page of one strategy, made from the text of its file.
fn page(module: &str, source: &str) -> Option<String> {
    let lines: Vec<&str> = source
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let body = lines.join("\n");
    let body = body.trim();
    let heading = format!("# {}", registry::public_name(module));
    (!body.is_empty()).then(|| {
        format!(
            "<!-- Made by `cargo xtask codegen` from {}: edit that. -->\n\n{heading}\n\n{body}\n",
            registry::source(module)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_the_module_doc_comment() {
        let source =
            "//! Moves pods.\n//!\n//! ```yaml\n//!   a: 1\n//! ```\n\nuse x;\n//! not this\n";
        let page = page("pod_life_time", source).expect("there is a comment");
        let body = page.split_once("\n\n").expect("there is a first line").1;
        assert_eq!(body, "# PodLifeTime\n\nMoves pods.\n\n```yaml\n  a: 1\n```\n");
    }

    #[test]
    fn a_file_without_a_comment_has_no_page() {
        assert_eq!(page("pod_life_time", "use x;\n"), None);
    }
}
