//! The manual of each plugin, out of the files that make the plugin what it is: the module doc
//! comment, the function that reads the arguments, and the case that is its example.
//!
//! The pages of `docs/strategies/` and `descheduler strategies` are both made from it.

use descheduler_engine::{ArgumentDoc, Pass};

/// What there is to read about one plugin.
#[derive(Clone, Copy)]
pub struct Manual {
    /// Its name in policies.
    pub name: &'static str,
    /// When it runs; `None` for the protections, which always hold.
    pub pass: Option<Pass>,
    /// One sentence for lists.
    pub summary: &'static str,
    /// The file of its code, from the root of the repository.
    pub source: &'static str,
    /// What is in that file.
    pub(crate) code: &'static str,
    /// The case that is its example.
    pub(crate) case: &'static str,
    /// Tells its arguments.
    pub(crate) describe: fn() -> Vec<ArgumentDoc>,
}

/// A policy at work on a small cluster. The case is run as a test, and what it expects was written
/// by that test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// What it shows, in a sentence.
    pub about: &'static str,
    /// The configuration of the scheduler, where it is not the usual one.
    pub scheduler: Option<&'static str>,
    /// The cluster, a line an object, as in every case.
    pub cluster: &'static str,
    /// The nodes with their pods, before and after.
    pub before_and_after: &'static str,
    /// What is evicted and what is kept, and why.
    pub plan: &'static str,
}

impl Manual {
    /// The manual itself: the module doc comment, in Markdown.
    pub fn text(&self) -> String {
        let lines = self.code.lines().map_while(|line| line.strip_prefix("//!"));
        let lines: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        lines.join("\n").trim().to_owned()
    }

    /// The policy in it.
    pub fn policy(&self) -> String {
        let text = self.text();
        let (_, rest) = text.split_once("```yaml\n").unwrap_or_default();
        let (policy, _) = rest.split_once("```").unwrap_or_default();
        policy.to_owned()
    }

    /// What it can be told.
    pub fn arguments(&self) -> Vec<ArgumentDoc> {
        (self.describe)()
    }

    /// The policy at work.
    pub fn example(&self) -> Example {
        let (about, _) = self.case.split_once("\n-- ").unwrap_or_default();
        let section = |name| section(self.case, name);
        Example {
            about: about.trim(),
            scheduler: section("scheduler"),
            cluster: section("cluster").unwrap_or_default(),
            before_and_after: section("before-and-after").unwrap_or_default(),
            plan: section("plan").unwrap_or_default(),
        }
    }
}

/// The text of one section of a case, as `descheduler-testkit` writes it.
fn section(case: &'static str, name: &str) -> Option<&'static str> {
    let (_, rest) = case.split_once(&format!("\n-- {name} --\n"))?;
    let end = rest.find("\n-- ").map_or(rest.len(), |end| end + 1);
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MANUALS;

    #[test]
    fn nothing_is_missing() {
        for manual in MANUALS {
            let Manual { name, summary, source, .. } = manual;
            assert!(manual.text().starts_with(|letter: char| letter.is_uppercase()), "{name}");
            assert!(manual.policy().contains(&format!("- name: {name}\n")), "{name}: the policy");
            assert!(summary.ends_with('.') && !manual.arguments().is_empty(), "{name}");
            assert!(source.ends_with(".rs"), "{name}");
            let Example { about, scheduler: _, cluster, before_and_after, plan } = manual.example();
            assert!(about.ends_with('.'), "{name}: what the example shows");
            assert_eq!(section(manual.case, "manual"), Some(&*format!("{name}\n")));
            assert!(before_and_after.starts_with("node "), "{name}: before and after");
            assert!(!cluster.is_empty() && !plan.is_empty(), "{name}: cluster and plan");
        }
    }

    #[test]
    fn sections_end_where_the_next_begins() {
        let case = "About.\n\n-- a --\nx\ny\n-- b --\nz\n";
        assert_eq!([section(case, "a"), section(case, "b")], [Some("x\ny\n"), Some("z\n")]);
        assert_eq!(section(case, "c"), None);
    }
}
