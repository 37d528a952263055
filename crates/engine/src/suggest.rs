//! Did you mean?

/// "did you mean …?" for a name that is none of `known`, if one of them is close.
///
/// Close is: the same but for upper and lower case; a few letters off; or one name within the
/// other, as `namespaces` is in `evictableNamespaces`.
pub fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    let name = closest(word, known)?;
    let case_only = name.eq_ignore_ascii_case(word);
    let why = if case_only { " letter case matters" } else { "" };
    Some(format!("did you mean `{name}`?{why}"))
}

/// The closest of `known`, if any is close; the earlier one among equals.
pub fn closest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // Nothing we know is this long, and the distance is quadratic in it.
    const LONGEST: usize = 100;
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let folded: Vec<char> = fold(word);
    known
        .into_iter()
        .filter(|name| *name != word)
        .filter_map(|name| Some((rank(&folded, &fold(name))?, name)))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, name)| name)
}

fn fold(text: &str) -> Vec<char> {
    text.chars().map(|c| c.to_ascii_lowercase()).collect()
}

/// How far apart two names are; `None` if too far to be meant.
fn rank(word: &[char], name: &[char]) -> Option<usize> {
    let distance = distance(word, name);
    let (short, long) = if word.len() < name.len() { (word, name) } else { (name, word) };
    if distance <= (short.len() / 3).max(1) && distance < short.len() {
        return Some(distance);
    }
    let within = short.len() >= 4 && long.windows(short.len()).any(|window| window == short);
    // Behind every typing error; among themselves the one that adds least.
    within.then_some(1000 + distance)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one to the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut cost = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn what_people_mean() {
        let known = [
            "RemoveDuplicates",
            "PodLifeTime",
            "evictableNamespaces",
            "maxPodLifeTimeSeconds",
            "constraints",
            "states",
        ];
        for (word, meant) in [
            ("RemoveDuplicate", Some("RemoveDuplicates")),
            ("PodLifetime", Some("PodLifeTime")),
            ("namespaces", Some("evictableNamespaces")),
            ("maxPodLifeTimeSecs", Some("maxPodLifeTimeSeconds")),
            ("includeSoftConstraints", Some("constraints")),
            ("sattes", Some("states")),
            ("stat", Some("states")),
            ("x", None),
            ("", None),
            ("bogus", None),
        ] {
            assert_eq!(closest(word, known), meant, "`{word}`");
        }
    }
}
