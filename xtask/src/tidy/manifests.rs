//! What may depend on what.

use super::Problem;
use super::words::has_word;
use super::workspace::{Dependency, Package, Workspace};

/// Our packages carry this prefix, their folders do not.
const PREFIX: &str = "descheduler-";
/// For tests only.
const TESTKIT: &str = "testkit";
/// The configuration of clippy in the workspace and in each pure crate.
pub(super) const CLIPPY: &str = "clippy.toml";

/// Which of our crates each of our crates may use: only those below it.
const BELOW: [(&str, &[&str]); 11] = [
    ("cluster", &[]),
    ("scheduler", &["cluster"]),
    ("engine", &["cluster", "scheduler"]),
    ("strategies", &["cluster", "scheduler", "engine"]),
    ("policy", &["cluster", "scheduler", "engine"]),
    ("controller", &["cluster", "scheduler", "engine", "policy"]),
    ("sim", &["cluster", "scheduler", "engine", "policy"]),
    (
        "descheduler",
        &["cluster", "scheduler", "engine", "strategies", "policy", "controller", "sim"],
    ),
    (TESTKIT, &["cluster"]),
    // It runs the program as it is and looks into none of it.
    ("e2e", &[]),
    // It makes pages and a schema from what strategies say of themselves.
    ("xtask", &["engine", "strategies", "policy"]),
];

/// The crates that are functions of their arguments, and the third-party crates that each may use.
/// None of these opens a file, reads a clock, or draws a random number for its user.
const PURE: [(&str, &[&str]); 5] = [
    (
        "cluster",
        &[
            "hashbrown",
            "jiff",
            "memchr",
            "rustc-hash",
            "serde",
            "serde_json",
            "serde_path_to_error",
            "smallvec",
        ],
    ),
    ("scheduler", &["hashbrown", "jiff", "rustc-hash", "serde", "smallvec"]),
    ("engine", &["hashbrown", "jiff", "rustc-hash", "serde", "smallvec"]),
    ("strategies", &["hashbrown", "jiff", "rustc-hash", "serde", "smallvec"]),
    // Its random numbers come from a seed that it is given.
    ("sim", &["hashbrown", "jiff"]),
];

/// Whether a package is one of the pure crates.
pub(super) fn is_pure(package: &str) -> bool {
    PURE.iter().any(|(name, _)| *name == short(package))
}

fn short(package: &str) -> &str {
    package.strip_prefix(PREFIX).unwrap_or(package)
}

/// Layers, allowed third-party crates, unused dependencies, inherited lints.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, package) in workspace.packages.iter().enumerate() {
        let path = package.manifest();
        let manifest = workspace.text(&path);
        for dependency in &package.dependencies {
            let mut add = |rule, what: String| {
                let line = line_of(manifest, &dependency.name);
                problems.push(Problem::new(rule, &path, line, what));
            };
            if let Some(what) = forbidden(package, dependency) {
                add("layers", what);
            }
            let sources = workspace.sources.iter().filter(|source| source.package == index);
            let mut texts = sources.map(|source| (&*source.path, workspace.text(&source.path)));
            if !is_mentioned(dependency, &package.folder, &mut texts) {
                add("unused", format!("nothing mentions `{}`: remove it", dependency.name));
            }
        }
        if !inherits_lints(manifest) {
            let what = "add `[lints]` with `workspace = true`";
            problems.push(Problem::new("lints", &path, 1, what));
        }
    }
    problems.extend(unused_in_workspace(workspace));
    problems
}

/// Why a package must not have a dependency, if so.
fn forbidden(package: &Package, dependency: &Dependency) -> Option<String> {
    let (from, to) = (short(&package.name), short(&dependency.name));
    let is_dev = dependency.kind.as_deref() == Some("dev");
    if BELOW.iter().any(|(name, _)| *name == to) {
        if to == TESTKIT {
            let what = format!("`{TESTKIT}` is for tests: make it a dev-dependency");
            return (!is_dev).then_some(what);
        }
        let below = BELOW.iter().find(|(name, _)| *name == from).map_or(&[][..], |(_, list)| list);
        let what = format!("`{to}` is not below `{from}`: turn the dependency around");
        return (!below.contains(&to)).then_some(what);
    }
    let (_, allowed) = PURE.iter().find(|(name, _)| *name == from)?;
    let what = format!("`{to}` is not on the list of what `{from}` may use: do without it");
    (!is_dev && !allowed.contains(&to)).then_some(what)
}

/// Whether a source file that is compiled with the dependency names it.
fn is_mentioned<'a>(
    dependency: &Dependency,
    folder: &str,
    sources: &mut impl Iterator<Item = (&'a str, &'a str)>,
) -> bool {
    let name = dependency.name.replace('-', "_");
    let program = format!("{folder}/src/");
    sources.any(|(path, text)| {
        (dependency.kind.is_some() || path.starts_with(&program)) && has_word(text, &name)
    })
}

fn inherits_lints(manifest: &str) -> bool {
    let lines: Vec<&str> = manifest.lines().map(str::trim).collect();
    lines.windows(2).any(|pair| pair == ["[lints]", "workspace = true"])
}

/// Versions in the workspace's table that no member asks for.
fn unused_in_workspace(workspace: &Workspace) -> Vec<Problem> {
    let manifest = workspace.text("Cargo.toml");
    let uses = |name: &str| {
        let mut all = workspace.packages.iter().flat_map(|package| &package.dependencies);
        all.any(|dependency| dependency.name == name)
    };
    table(manifest, "[workspace.dependencies]")
        .filter(|(_, name)| !uses(name))
        .map(|(line, name)| {
            let what = format!("no member uses `{name}`: remove it");
            Problem::new("unused", "Cargo.toml", line, what)
        })
        .collect()
}

/// The keys of one table of a manifest, with the numbers of their lines.
fn table<'a>(manifest: &'a str, heading: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let lines = manifest.lines().enumerate().skip_while(move |(_, line)| line.trim() != heading);
    let lines = lines.skip(1).take_while(|(_, line)| !line.starts_with('['));
    lines.filter_map(|(index, line)| {
        let key = line.split(['=', '.']).next()?.trim();
        (!key.is_empty() && !key.starts_with('#')).then_some((index + 1, key))
    })
}

fn line_of(manifest: &str, dependency: &str) -> usize {
    let is_it = |line: &str| line.split(['=', '.']).next().is_some_and(|k| k.trim() == dependency);
    manifest.lines().position(is_it).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency(name: &str, kind: Option<&str>) -> Dependency {
        Dependency { name: name.into(), kind: kind.map(Into::into) }
    }

    fn refused(package: &str, name: &str, kind: Option<&str>) -> bool {
        let package = Package {
            name: package.into(),
            folder: String::new(),
            dependencies: vec![],
            targets: vec![],
        };
        forbidden(&package, &dependency(name, kind)).is_some()
    }

    #[test]
    fn crates_depend_downwards_only() {
        assert!(!refused("descheduler-engine", "descheduler-cluster", None));
        assert!(!refused("descheduler", "descheduler-strategies", None));
        assert!(refused("descheduler-cluster", "descheduler-engine", None));
        assert!(refused("descheduler-strategies", "descheduler-policy", Some("dev")));
        assert!(refused("xtask", "descheduler-scheduler", None));
    }

    #[test]
    fn testkit_is_for_tests() {
        assert!(!refused("descheduler-engine", "descheduler-testkit", Some("dev")));
        assert!(refused("descheduler-engine", "descheduler-testkit", None));
    }

    #[test]
    fn pure_crates_take_what_is_on_the_list() {
        assert!(!refused("descheduler-engine", "jiff", None));
        assert!(refused("descheduler-engine", "tokio", None));
        assert!(!refused("descheduler-engine", "proptest", Some("dev")));
        assert!(!refused("descheduler-controller", "tokio", None));
    }

    #[test]
    fn a_dependency_counts_as_used_where_it_is_compiled() {
        let sources =
            [("a/src/lib.rs", "use serde_json::Value;"), ("a/tests/a.rs", "use proptest::x;")];
        let used =
            |name, kind| is_mentioned(&dependency(name, kind), "a", &mut sources.into_iter());
        assert!(used("serde-json", None) && used("proptest", Some("dev")));
        assert!(!used("proptest", None) && !used("serde", None));
    }

    #[test]
    fn manifests_are_read() {
        let manifest = "[workspace.dependencies]\na = \"1\"\n# why\nb.workspace = true\n\n[lints]\nworkspace = true\n";
        let keys: Vec<_> = table(manifest, "[workspace.dependencies]").collect();
        assert_eq!(keys, [(2, "a"), (4, "b")]);
        assert!(inherits_lints(manifest));
        assert!(!inherits_lints("[lints.rust]\nunsafe_code = \"forbid\"\n"));
        assert_eq!(line_of(manifest, "b"), 4);
    }
}
