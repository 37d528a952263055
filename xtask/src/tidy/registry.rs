//! A strategy is a file, a word in the list, a folder of cases and a page of the manual: all four,
//! or none.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::Item;

use super::Problem;
use super::workspace::Workspace;

/// The macro that lists the strategies.
pub(crate) const MACRO: &str = "strategies";
/// The file with the list.
pub(crate) const LIST: &str = "crates/strategies/src/lib.rs";

const CASES: &str = "crates/strategies/test_data";
const PAGES: &str = "docs/strategies";

/// The modules named in `strategies! { .. }`, in the order of the list. The list may spell a
/// strategy as a module (`pod_life_time`) or as users do (`PodLifeTime`).
pub(crate) fn modules(list: &str) -> Vec<String> {
    let Ok(file) = syn::parse_file(list) else { return Vec::new() };
    let calls = file.items.into_iter().filter_map(|item| match item {
        Item::Macro(item) if item.mac.path.is_ident(MACRO) => Some(item.mac.tokens),
        _ => None,
    });
    calls.flat_map(names).collect()
}

/// The modules in one call of the macro.
pub(crate) fn names(tokens: TokenStream) -> Vec<String> {
    let words = tokens.into_iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(snake_case(&word.to_string())),
        _ => None,
    });
    words.collect()
}

/// The file of a strategy.
fn source(module: &str) -> String {
    format!("crates/strategies/src/{module}.rs")
}

/// How users name the protections.
const EVICTOR: &str = "DefaultEvictor";

/// The page of a plugin.
pub(crate) fn page(name: &str) -> String {
    format!("{PAGES}/{name}.md")
}

/// `pod_life_time` as users spell it: `PodLifeTime`.
fn public_name(module: &str) -> String {
    let words = module.split('_').map(|word| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    });
    words.collect()
}

/// `PodLifeTime` as a module is called: `pod_life_time`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// Compares the list with the files, the folders of cases and the pages. A file that is not in the
/// list is a helper; that it is used at all is the concern of the rule on orphans.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let Some(list) = workspace.texts.get(LIST) else { return Vec::new() };
    let paths: Vec<&str> = workspace.texts.keys().map(String::as_str).collect();
    check_paths(&modules(list), &paths)
}

fn check_paths(modules: &[String], paths: &[&str]) -> Vec<Problem> {
    let listed: BTreeSet<&str> = modules.iter().map(String::as_str).collect();
    let mut problems = Vec::new();
    let mut add = |path: &str, what: String| {
        problems.push(Problem::new("registry", path, 1, what));
    };
    if listed.is_empty() {
        add(LIST, format!("no `{MACRO}! {{ .. }}` found: the strategies must stand in it"));
    }
    for module in &listed {
        let (source, page) = (source(module), page(&public_name(module)));
        if !paths.contains(&&*source) {
            add(LIST, format!("`{module}` is listed, but there is no {source}"));
        }
        if !paths.contains(&&*page) {
            add(&source, format!("there is no {page}: run `cargo xtask codegen`"));
        }
        let cases = format!("{CASES}/{module}/");
        if !paths.iter().any(|path| path.starts_with(&cases)) {
            add(&source, format!("there is no case in {cases}: add one"));
        }
    }
    for path in paths {
        let lists = format!("list the strategy in {LIST} or remove this");
        if let Some(rest) = path.strip_prefix(&format!("{CASES}/"))
            && let Some((folder, _)) = rest.split_once('/')
            && !listed.contains(folder)
            // Cases of what the strategies share lie in folders named after its module.
            && !paths.contains(&&*source(folder))
            && !paths.contains(&&*format!("crates/strategies/src/{folder}/mod.rs"))
        {
            add(path, format!("cases of `{folder}`, which is no module: {lists}"));
        }
        if let Some(rest) = path.strip_prefix(&format!("{PAGES}/"))
            && let Some(name) = rest.strip_suffix(".md")
            && name != EVICTOR
            && !listed.contains(&*snake_case(name))
        {
            add(path, format!("a page of `{name}`, which is no strategy: {lists}"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read() {
        let list =
            "mod scope;\nstrategies! {\n    // why\n    pod_life_time,\n    RemoveDuplicates\n}\n";
        assert_eq!(modules(list), ["pod_life_time", "remove_duplicates"]);
        assert_eq!(
            public_name("remove_pods_violating_inter_pod_anti_affinity"),
            "RemovePodsViolatingInterPodAntiAffinity"
        );
    }

    #[test]
    fn a_complete_strategy_is_fine_and_a_helper_needs_nothing() {
        let paths = [
            "crates/strategies/src/a_b.rs",
            "crates/strategies/src/scope.rs",
            "crates/strategies/src/protections/mod.rs",
            "crates/strategies/test_data/a_b/evicts.case",
            "crates/strategies/test_data/protections/age.case",
            "docs/strategies/AB.md",
            "docs/strategies/DefaultEvictor.md",
        ];
        assert_eq!(check_paths(&["a_b".into()], &paths), vec![]);
    }

    #[test]
    fn every_missing_or_left_over_part_is_named() {
        let paths = ["crates/strategies/test_data/gone/a.case", "docs/strategies/Gone.md"];
        let found = check_paths(&["a_b".into()], &paths);
        let paths: Vec<&str> = found.iter().map(|problem| &*problem.path).collect();
        let source = "crates/strategies/src/a_b.rs";
        assert_eq!(
            paths,
            [
                LIST,
                source,
                source,
                "crates/strategies/test_data/gone/a.case",
                "docs/strategies/Gone.md"
            ]
        );
    }
}
