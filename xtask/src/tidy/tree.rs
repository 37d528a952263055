//! Which files belong to which compilation, and which are tests.

use std::collections::BTreeMap;

use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta};

use super::Problem;
use super::registry;
use super::workspace::Workspace;

/// Every Rust file is reached by a chain of `mod` from a target; one that is not is compiled by
/// nobody, so nothing in it is checked.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let reached = reached(workspace);
    let orphans = workspace.sources.iter().filter(|source| !reached.contains_key(&source.path));
    orphans
        .map(|source| {
            let what = "no `mod` declaration leads here: declare the module or delete the file";
            Problem::new("orphan", &source.path, 1, what)
        })
        .collect()
}

/// Every file that is compiled, and whether it is compiled for tests alone.
pub(super) fn reached(workspace: &Workspace) -> BTreeMap<String, bool> {
    let mut walk = Walk { workspace, reached: BTreeMap::new() };
    for target in workspace.packages.iter().flat_map(|package| &package.targets) {
        let folder = target.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        walk.file(&target.path, folder, target.test);
    }
    walk.reached
}

struct Walk<'a> {
    workspace: &'a Workspace,
    reached: BTreeMap<String, bool>,
}

impl Walk<'_> {
    /// Enters a file whose submodules lie in `folder`.
    fn file(&mut self, path: &str, folder: &str, test: bool) {
        let Some(source) = self.workspace.sources.iter().find(|source| source.path == path) else {
            return;
        };
        // A file that both tests and the program use is no test; look again with what is known now.
        match self.reached.get(path) {
            Some(&known) if !known || test => return,
            _ => self.reached.insert(path.to_owned(), test),
        };
        self.items(&source.syntax.items, folder, test);
    }

    fn items(&mut self, items: &[Item], folder: &str, test: bool) {
        for item in items {
            match item {
                Item::Mod(module) => {
                    let test = test || is_test(&module.attrs);
                    let name = module.ident.to_string();
                    match (&module.content, path_attribute(&module.attrs)) {
                        (Some((_, items)), _) => {
                            self.items(items, &format!("{folder}/{name}"), test);
                        }
                        (None, Some(path)) => {
                            let path = joined(folder, &path);
                            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                            self.file(&path, folder, test);
                        }
                        (None, None) => self.module(&name, folder, test),
                    }
                }
                Item::Macro(item) if item.mac.path.is_ident(registry::MACRO) => {
                    for name in registry::names(item.mac.tokens.clone()) {
                        self.module(&name, folder, test);
                    }
                }
                _ => {}
            }
        }
    }

    /// Enters `mod name;`, which is either a file or a folder with a `mod.rs`.
    fn module(&mut self, name: &str, folder: &str, test: bool) {
        let inner = format!("{folder}/{name}");
        self.file(&format!("{inner}.rs"), &inner, test);
        self.file(&format!("{inner}/mod.rs"), &inner, test);
    }
}

/// A path from a folder, which may lead out of it.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether the attributes say that something exists for tests alone.
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().trim() == "test",
        Meta::NameValue(_) => false,
    })
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace::{Package, Source, Target};

    fn workspace(files: &[(&str, &str)]) -> Workspace {
        let target = |path: &str, test| Target { path: path.into(), test };
        let package = Package {
            name: "a".into(),
            folder: "a".into(),
            dependencies: vec![],
            targets: vec![target("a/src/lib.rs", false), target("a/tests/it.rs", true)],
        };
        let sources =
            files.iter().map(|(path, text)| Source::parse(path, 0, text).expect("it parses"));
        Workspace { packages: vec![package], sources: sources.collect(), texts: BTreeMap::new() }
    }

    #[test]
    fn modules_are_followed_and_the_rest_is_an_orphan() {
        let workspace = workspace(&[
            ("a/src/lib.rs", "mod b; mod c { mod d; } strategies! { e } #[cfg(test)] mod f;"),
            ("a/src/b.rs", "mod g;"),
            ("a/src/b/g.rs", ""),
            ("a/src/c/d.rs", ""),
            ("a/src/e.rs", ""),
            ("a/src/f.rs", "mod h;"),
            ("a/src/f/h.rs", ""),
            ("a/src/lost.rs", ""),
            ("a/tests/it.rs", "mod common; #[path = \"../both/mod.rs\"] mod both;"),
            ("a/both/mod.rs", "mod inner;"),
            ("a/both/inner.rs", ""),
            ("a/tests/common/mod.rs", ""),
        ]);
        let orphans: Vec<String> = check(&workspace).into_iter().map(|p| p.path).collect();
        assert_eq!(orphans, ["a/src/lost.rs"]);
        let reached = reached(&workspace);
        let tests: Vec<_> = reached.iter().filter(|(_, test)| **test).map(|(p, _)| &**p).collect();
        let expected = [
            "a/both/inner.rs",
            "a/both/mod.rs",
            "a/src/f.rs",
            "a/src/f/h.rs",
            "a/tests/common/mod.rs",
            "a/tests/it.rs",
        ];
        assert_eq!(tests, expected);
    }

    #[test]
    fn a_file_shared_by_tests_and_program_is_no_test() {
        let workspace = workspace(&[
            ("a/src/lib.rs", "#[cfg(test)] mod b; #[path = \"b.rs\"] mod c;"),
            ("a/src/b.rs", "mod d;"),
            ("a/src/d.rs", ""),
        ]);
        assert_eq!(reached(&workspace).get("a/src/b.rs"), Some(&false));
    }
}
