//! Whatever makes a pod go or stay is explained somewhere: for each code of a reason there is a case
//! of `explain`.
//!
//! The codes are read from the sources: the constants with names such as `NoOwner` of the crates that
//! give reasons, and what the refusals themselves answer to `code()`.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Expr, ImplItem, Item, ItemConst, ItemImpl, Lit, LitStr, Type};

use super::Problem;
use super::workspace::{Source, Workspace};

const CASES: &str = "crates/descheduler/tests/explain/";

/// Where reasons are given.
const GIVERS: [&str; 2] = ["crates/engine/src/", "crates/strategies/src/"];

/// The types whose `code()` says why a pod stays.
const REFUSALS: [&str; 2] = ["Refusal", "LimitKind"];

/// What looks like a code and cannot be explained from a file, and why.
const OTHERS: [(&str, &str); 3] = [
    ("MetricResource", "the name of a resource"),
    ("StillOpen", "only the service knows evictions that are open"),
    ("StrategyFailed", "no strategy is known to fail inside"),
];

pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let cases = workspace.texts.iter().filter(|(path, _)| path.starts_with(CASES));
    let told: BTreeSet<&str> = cases.flat_map(|(_, text)| codes_told(text)).collect();
    let is_giver = |source: &&Source| GIVERS.iter().any(|giver| source.path.starts_with(giver));
    let mut given: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    for source in workspace.sources.iter().filter(is_giver) {
        let found = codes_given(&source.syntax).into_iter();
        given.extend(found.map(|(code, line)| (code, (&*source.path, line))));
    }
    compare(&given, &told)
}

fn compare(given: &BTreeMap<String, (&str, usize)>, told: &BTreeSet<&str>) -> Vec<Problem> {
    let is_other = |code: &str| OTHERS.iter().any(|(other, _)| *other == code);
    let untold = given.iter().filter(|(code, _)| !told.contains(&***code) && !is_other(code));
    let untold = untold.map(|(code, &(path, line))| {
        Problem::new("codes", path, line, format!("no case in {CASES} explains `{code}`: add one"))
    });
    let needless =
        OTHERS.iter().filter(|(code, _)| told.contains(code) || !given.contains_key(*code));
    let needless = needless.map(|(code, reason)| {
        let what = format!("the exception for `{code}` ({reason}) is not needed: remove it");
        Problem::new("codes", "xtask/src/tidy/codes.rs", 1, what)
    });
    untold.chain(needless).collect()
}

/// The codes in the heads of an answer, such as `RemoveDuplicates  profile a  refused, NoOtherNode`.
fn codes_told(case: &str) -> impl Iterator<Item = &str> {
    let answer = case.split_once("-- answer --").map_or("", |(_, answer)| answer);
    let heads = answer.lines().filter(|line| !line.starts_with(' '));
    heads.filter_map(|head| Some(head.rsplit_once(", ")?.1)).filter(|word| is_code(word))
}

/// The codes that a file gives, with their lines.
fn codes_given(file: &syn::File) -> Vec<(String, usize)> {
    let mut given = Given::default();
    for item in &file.items {
        match item {
            Item::Const(item) => given.visit_item_const(item),
            Item::Impl(item) => given.visit_item_impl(item),
            _ => {}
        }
    }
    given.0
}

#[derive(Default)]
struct Given(Vec<(String, usize)>);

impl<'ast> Visit<'ast> for Given {
    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        if let Expr::Lit(value) = &*item.expr
            && let Lit::Str(text) = &value.lit
        {
            self.visit_lit_str(text);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let Type::Path(of) = &*item.self_ty else { return };
        let is_refusal = REFUSALS.iter().any(|name| of.path.is_ident(name));
        for part in item.items.iter().filter(|_| is_refusal) {
            if let ImplItem::Fn(function) = part
                && function.sig.ident == "code"
            {
                visit::visit_block(self, &function.block);
            }
        }
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        if is_code(&text.value()) {
            self.0.push((text.value(), text.span().start().line));
        }
    }
}

/// Whether a word is spelt as codes are.
fn is_code(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_uppercase())
        && word.contains(|letter: char| letter.is_ascii_lowercase())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
        const NO_OWNER: &str = "NoOwner";
        const ANNOTATION: &str = "example.com/evict";
        impl Refusal {
            fn code(&self) -> &'static str {
                match self {
                    Self::Budget { .. } => "DisruptionBudget",
                    Self::Protected(reason) => reason.code,
                }
            }
            fn name(&self) -> &'static str { "Anything" }
        }
        impl Fate {
            fn code(&self) -> &'static str { "Gone" }
        }
    "#;

    #[test]
    fn codes_are_constants_and_what_refusals_answer() {
        let file = syn::parse_file(SOURCE).expect("it is Rust");
        let codes = codes_given(&file).into_iter().map(|(code, _)| code).collect::<Vec<_>>();
        assert_eq!(codes, ["NoOwner", "DisruptionBudget"]);
    }

    #[test]
    fn the_heads_of_answers_tell_codes() {
        let case = "About NoOwner, Quoted\n-- answer --\nns/p on a stays: why, Not a code\n\n\
                    PodLifeTime  profile test  refused, NoOwner\n  of all, Indented\n";
        assert_eq!(codes_told(case).collect::<Vec<_>>(), ["NoOwner"]);
    }

    #[test]
    fn a_code_without_a_case_and_an_exception_without_need_are_problems() {
        let others = OTHERS.iter().map(|(code, _)| ((*code).to_owned(), ("o.rs", 1)));
        let mut given: BTreeMap<String, (&str, usize)> = others.collect();
        given.insert("NoOwner".to_owned(), ("a.rs", 7));
        assert_eq!(compare(&given, &BTreeSet::from(["NoOwner"])), vec![]);
        let found = compare(&given, &BTreeSet::from(["StillOpen"]));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a.rs:7: codes: no case"), "{found:?}");
        assert!(found[1].contains("`StillOpen`"), "{found:?}");
    }
}
