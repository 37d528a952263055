//! Two texts line by line, for the eye.

/// Every line of both: `  ` in front of those that are the same, `- ` where only `expected` has
/// the line and `+ ` where only `actual` has it.
pub(crate) fn diff(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    // common[i][j]: how many lines old[i..] and new[j..] have in common.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let mut out = String::new();
    let mut line = |mark: &str, text: &str| out.extend([mark, text, "\n"]);
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            line("  ", old[i]);
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            line("- ", old[i]);
            i += 1;
        } else {
            line("+ ", new[j]);
            j += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn what_is_common_is_found() {
        assert_eq!(diff("a\nb\nc\n", "b\nx\nc\n"), "- a\n  b\n+ x\n  c\n");
        assert_eq!(diff("", "a\n"), "+ a\n");
        assert_eq!(diff("a\n", ""), "- a\n");
        assert_eq!(diff("a\n", "a\n"), "  a\n");
    }
}
