//! Files and functions that are short enough to read in one go.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemFn, ItemMod, Signature, TraitItemFn};

use super::Problem;
use super::tree::{is_test, reached};
use super::workspace::{Source, Workspace};

/// Lines of code a file may have, without tests, comments and blanks.
const FILE_LINES: usize = 500;
/// Lines of code a function may have, from its signature to its closing brace.
const FUNCTION_LINES: usize = 70;

/// Files and functions over the limits. Tests are exempt: a table of cases is as long as it is.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let reached = reached(workspace);
    let is_program = |source: &&Source| reached.get(&source.path) == Some(&false);
    workspace.sources.iter().filter(is_program).flat_map(check_file).collect()
}

fn check_file(source: &Source) -> Vec<Problem> {
    let mut code = source.code.clone();
    without_tests(&source.syntax.items, &mut code);
    let mut problems = Vec::new();
    if code.len() > FILE_LINES {
        let what = format!(
            "{} lines of code, at most {FILE_LINES}: move one concern to a file of its own",
            code.len()
        );
        problems.push(Problem::new("length", &source.path, 1, what));
    }
    let mut functions = Functions { source, problems };
    functions.visit_file(&source.syntax);
    functions.problems
}

fn without_tests(items: &[Item], code: &mut BTreeSet<usize>) {
    for item in items {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            _ => continue,
        };
        if is_test(attributes) {
            for line in lines(item) {
                code.remove(&line);
            }
        } else if let Item::Mod(ItemMod { content: Some((_, items)), .. }) = item {
            without_tests(items, code);
        }
    }
}

fn lines(part: &impl Spanned) -> RangeInclusive<usize> {
    part.span().start().line..=part.span().end().line
}

struct Functions<'a> {
    source: &'a Source,
    problems: Vec<Problem>,
}

impl Functions<'_> {
    fn check(&mut self, attributes: &[Attribute], signature: &Signature, end: usize) {
        if is_test(attributes) {
            return;
        }
        let start = signature.span().start().line;
        let length = self.source.code.range(start..=end).count();
        if length > FUNCTION_LINES {
            let what = format!(
                "`{}` has {length} lines of code, at most {FUNCTION_LINES}: give a step of it a name",
                signature.ident
            );
            self.problems.push(Problem::new("length", &self.source.path, start, what));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.check(&function.attrs, &function.sig, *lines(function).end());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.check(&function.attrs, &function.sig, *lines(function).end());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.check(&function.attrs, &function.sig, *lines(function).end());
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<Problem> {
        check_file(&Source::parse("a.rs", 0, text).expect("it parses"))
    }

    fn statements(count: usize) -> String {
        "    f();\n".repeat(count)
    }

    #[test]
    fn a_function_may_have_seventy_lines_and_any_number_of_comments() {
        let comments = "    // why\n\n".repeat(100);
        let fits = format!("/// Doc.\nfn f() {{\n{comments}{}}}\n", statements(68));
        assert_eq!(problems(&fits), vec![]);

        let long = format!("impl A {{\n    fn f() {{\n{}    }}\n}}\n", statements(69));
        let found = problems(&long);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
        assert!(found[0].what.starts_with("`f` has 71 lines of code"), "{}", found[0].what);
    }

    #[test]
    fn a_file_may_have_five_hundred_lines_besides_its_tests() {
        let functions = "fn f() {}\n".repeat(500);
        let tests =
            format!("#[cfg(test)]\nmod tests {{\n    fn f() {{\n{}    }}\n}}\n", statements(600));
        assert_eq!(problems(&format!("{functions}{tests}")), vec![]);
        assert_eq!(problems(&format!("{functions}fn g() {{}}\n")).len(), 1);
    }
}
