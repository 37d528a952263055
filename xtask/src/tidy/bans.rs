//! Things that compile and must not be there.

use std::collections::BTreeSet;

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{Attribute, Macro, Path, UseTree};

use super::Problem;
use super::manifests::{CLIPPY, is_pure};
use super::workspace::{Source, Workspace};

/// Modules of the standard library that a pure crate has no use for. clippy knows single functions
/// and types; this is the net below it.
const IMPURE: [&str; 6] = ["env", "fs", "net", "os", "process", "thread"];

/// Ignored tests, unfinished code, and the outside world in crates that must not know it.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems: Vec<Problem> = workspace
        .sources
        .iter()
        .flat_map(|source| {
            let package = &workspace.packages[source.package];
            check_file(source, is_pure(&package.name) && !source.path.contains("/tests/"))
        })
        .collect();
    problems.extend(check_clippy_files(workspace));
    problems
}

/// A member's `clippy.toml` replaces the root's, so a pure crate without one would have no bans,
/// and one that differs from its sisters was forgotten when they changed.
fn check_clippy_files(workspace: &Workspace) -> Vec<Problem> {
    let pure = workspace.packages.iter().filter(|package| is_pure(&package.name));
    let files: Vec<String> = pure.map(|package| format!("{}/{CLIPPY}", package.folder)).collect();
    let texts: BTreeSet<&str> = files.iter().map(|file| workspace.text(file)).collect();
    let differ = texts.len() > 1 || texts.contains("");
    let what = "the pure crates must have the same bans: make their `clippy.toml` equal";
    files.iter().filter(|_| differ).map(|file| Problem::new("clippy", file, 1, what)).collect()
}

fn check_file(source: &Source, pure: bool) -> Vec<Problem> {
    let mut bans = Bans { source, pure, problems: Vec::new() };
    bans.visit_file(&source.syntax);
    bans.problems
}

struct Bans<'a> {
    source: &'a Source,
    pure: bool,
    problems: Vec<Problem>,
}

impl Bans<'_> {
    fn add(&mut self, span: Span, what: impl Into<String>) {
        self.problems.push(Problem::new("ban", &self.source.path, span.start().line, what));
    }

    fn module(&mut self, root: &syn::Ident, module: &syn::Ident) {
        if self.pure && root == "std" && IMPURE.iter().any(|name| module == name) {
            let what = format!(
                "`std::{module}` in a crate that must not know the outside world: take what you \
                 need as an argument"
            );
            self.add(root.span(), what);
        }
    }
}

impl<'ast> Visit<'ast> for Bans<'_> {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("ignore") {
            let what = "an ignored test: assert what happens and say why it is wrong, or delete it";
            self.add(attribute.pound_token.span, what);
        }
        visit::visit_attribute(self, attribute);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if let Some(name) = call.path.get_ident()
            && (name == "todo" || name == "unimplemented")
        {
            self.add(name.span(), format!("`{name}!`: finish it, or do not begin it"));
        }
        visit::visit_macro(self, call);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let mut segments = path.segments.iter();
        if let (Some(first), Some(second)) = (segments.next(), segments.next()) {
            self.module(&first.ident, &second.ident);
        }
        visit::visit_path(self, path);
    }

    fn visit_use_path(&mut self, path: &'ast syn::UsePath) {
        let mut inner = vec![&*path.tree];
        while let Some(tree) = inner.pop() {
            match tree {
                UseTree::Path(next) => self.module(&path.ident, &next.ident),
                UseTree::Name(next) => self.module(&path.ident, &next.ident),
                UseTree::Rename(next) => self.module(&path.ident, &next.ident),
                UseTree::Group(group) => inner.extend(&group.items),
                _ => {}
            }
        }
        visit::visit_use_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str, pure: bool) -> Vec<String> {
        let source = Source::parse("a.rs", 0, text).expect("it parses");
        let lines = check_file(&source, pure).into_iter();
        lines.map(|p| format!("{}: {}", p.line, p.what.split(": ").next().unwrap_or(""))).collect()
    }

    #[test]
    fn ignored_tests_and_unfinished_code_are_found() {
        let text = "#[test]\n#[ignore = \"slow\"]\nfn f() {\n    todo!()\n}\nfn g() { x(unimplemented!()) }\n";
        assert_eq!(
            problems(text, false),
            ["2: an ignored test", "4: `todo!`", "6: `unimplemented!`"]
        );
        assert_eq!(problems("// todo!()\nconst A: &str = \"todo!()\";\n", false), [""; 0]);
    }

    #[test]
    fn pure_crates_do_not_see_the_outside() {
        let text =
            "use std::{fmt, fs::File};\nfn f() { std::env::var(\"A\"); }\nuse std::thread;\n";
        let found = problems(text, true);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(problems(text, false), [""; 0]);
        assert_eq!(
            problems("use crate::process::X; use std::collections::BTreeMap;", true),
            [""; 0]
        );
    }
}
