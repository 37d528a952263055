//! Words that have no place in a finished repository.

use super::Problem;
use super::workspace::Workspace;

/// Promises instead of work. Written in two halves, so that this file does not break its own rule.
const MARKERS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// How the work was done, which nobody needs to know who reads the result. Whole words.
const WORKING: [&str; 2] = [concat!("sess", "ion"), concat!("sess", "ions")];

/// What makes sense only to whoever wrote it: folders of one machine, talk about the work instead
/// of the program, and the addresses of package registries.
const PRIVATE: [&str; 12] = [
    concat!("../", "shared"),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("bash", "_jobs"),
    concat!("work", "place"),
    concat!("sub", "-agent"),
    concat!("language", " model"),
    concat!("house", ".md"),
    concat!("sketch", ".md"),
    concat!("crates", ".io"),
    concat!("proxy.", "golang.org"),
];

/// Looks at the text of every file: code, comments, documents and test data.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let files = workspace.texts.iter().filter(|(path, _)| !path.ends_with("Cargo.lock"));
    files.flat_map(|(path, text)| check_text(path, text)).collect()
}

fn check_text(path: &str, text: &str) -> Vec<Problem> {
    // Data is what it is: a name in a dump of a cluster is no promise.
    let written = [".rs", ".md", ".toml", ".sh", "/run"].iter().any(|end| path.ends_with(end));
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let lower = line.to_lowercase();
        for word in PRIVATE.iter().filter(|word| lower.contains(**word)) {
            let what = format!("`{word}` means nothing to a reader elsewhere: say it without");
            problems.push(Problem::new("words", path, index + 1, what));
        }
        for word in MARKERS.iter().filter(|word| written && has_word(line, word)) {
            let what = format!("`{word}`: do it now, or write down what is so and why");
            problems.push(Problem::new("words", path, index + 1, what));
        }
        for word in WORKING.iter().filter(|word| written && has_word(&lower, word)) {
            let what = format!("`{word}` is about how the work was done: say what is so");
            problems.push(Problem::new("words", path, index + 1, what));
        }
    }
    problems
}

/// Whether `word` stands in `line`, not as a part of a longer one.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(is_inner) && !line[at + word.len()..].starts_with(is_inner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_found_as_whole_words_in_what_people_write() {
        let line = format!("// {}: later\n", MARKERS[0]);
        assert_eq!(check_text("a.rs", &line).len(), 1);
        assert_eq!(check_text("a.yaml", &line).len(), 0);
        assert_eq!(check_text("a.md", &format!("In this {},\n", WORKING[0])).len(), 1);
        assert_eq!(check_text("a.md", &format!("`{}Affinity: None`\n", WORKING[0])).len(), 0);
        assert_eq!(check_text("a.rs", &format!("const {}S: u8 = 1;", MARKERS[0])).len(), 0);
    }

    #[test]
    fn private_words_are_found_anywhere() {
        let found = check_text("a.json", &format!("{{\n\"path\": \"{}x\"}}\n", PRIVATE[1]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
    }
}
