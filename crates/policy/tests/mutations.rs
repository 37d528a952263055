//! Whatever is done to a file, reading it ends, does not panic, and points into the file.

mod toy;

use descheduler_engine::Diagnostics;
use descheduler_policy::{Style, load, render, scheduler};
use descheduler_scheduler::Version;
use proptest::prelude::*;

const POLICY: &str = "\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
nodeSelector: a in (b, c)
maxNoOfPodsToEvictTotal: 10
metricsProviders: [{source: Prometheus, prometheus: {url: 'http://p:9090'}}]
placement: {mode: Improving}
profiles:
- name: \"größe\"
  pluginConfig:
  - name: DefaultEvictor
    args: {nodeFit: yes, minPodAge: 1h30m, evictLocalStoragePods: true}
  - name: PodLifeTime
    args: &args
      maxPodLifeTimeSeconds: 0x10
      states: [Running, Failed]
      conditions: [{type: Ready}, ~]
      labelSelector: {matchLabels: {app: web}, matchExpressions: [{key: a, operator: Exists}]}
  - name: LowNodeUtilization
    args:
      thresholds: &low {cpu: 20, memory: 12.5}
      targetThresholds: {<<: *low, cpu: 1e1}
  plugins:
    deschedule: {enabled: [PodLifeTime]}
    balance:
      enabled:
      - LowNodeUtilization
";

/// Pieces that notations trip over.
const PIECES: [&str; 34] = [
    "\t",
    "\r",
    "\n",
    "\r\n",
    "\u{feff}",
    "\u{0}",
    "\u{85}",
    "\u{2028}",
    "é",
    "💥",
    "---\n",
    "...\n",
    "- ",
    ": ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "'",
    "|\n",
    ">+\n",
    "#",
    "&a ",
    "*a ",
    "*args",
    "<<: *low\n",
    "!!int ",
    "%YAML 1.1\n",
    "9999999999999999999999999999999999999999",
    "null",
    "name: x\n",
];

const SCHEDULER: &str = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 30
leaderElection: {leaderElect: true, leaseDuration: 15s}
extenders:
- urlPrefix: http://a/
  managedResources: [{name: a.com/x, ignoredByScheduler: true}]
profiles:
- schedulerName: a
  plugins:
    multiPoint: {enabled: [{name: NodeAffinity, weight: 3}], disabled: [{name: ImageLocality}]}
    score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 2}]}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 9, score: 9}]}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [x]}]}]
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]
- schedulerName: b
";

/// The same policy where people keep it, one text in another.
const WRAPPED: [(&str, &str); 5] = [
    ("apiVersion: v1\nkind: ConfigMap\ndata:\n  policy.yaml: |\n", "    "),
    ("apiVersion: v1\nkind: ConfigMap\ndata:\n  policy.yaml: >-\n", "    "),
    ("---\n# a\n---\nkind: Deployment\ndeschedulerPolicy:\n", "  "),
    ("spec:\n  source:\n    helm:\n      values: |\n        deschedulerPolicy:\n", "          "),
    ("patches:\n- |\n  kind: ConfigMap\n  apiVersion: v1\n  data:\n    a: |2\n", "      "),
];

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let (policy, diagnostics) = load(bytes, "policy.yaml", &toy::REGISTRY);
    prop_assert_eq!(policy.is_none(), diagnostics.has_errors());
    check_places(bytes, &diagnostics)
}

fn check_scheduler(bytes: &[u8]) -> Result<(), TestCaseError> {
    for version in Version::ALL {
        let (profiles, diagnostics) = scheduler::load(bytes, "scheduler.yaml", version);
        prop_assert_eq!(profiles.is_none(), diagnostics.has_errors());
        prop_assert!(profiles.is_none_or(|profiles| !profiles.is_empty()));
        check_places(bytes, &diagnostics)?;
    }
    Ok(())
}

fn check_places(bytes: &[u8], diagnostics: &Diagnostics) -> Result<(), TestCaseError> {
    // What is no UTF-8 is replaced, which can be longer.
    let length = String::from_utf8_lossy(bytes).len();
    for diagnostic in diagnostics {
        let span = diagnostic.span;
        prop_assert!(span.line >= 1 && span.column >= 1, "{diagnostic:?}");
        prop_assert!(span.start <= span.end, "{diagnostic:?}");
        prop_assert!(span.end <= length, "{diagnostic:?}");
    }
    let shown = render(diagnostics, bytes, Style::Plain);
    prop_assert_eq!(shown.is_empty(), diagnostics.is_empty());
    Ok(())
}

/// The place in the policy that a number stands for.
fn place(at: usize, len: usize) -> usize {
    at % (len + 1)
}

/// A list or a mapping ends no earlier than it begins, though its last value may lie before it.
#[test]
fn values_that_lie_before_their_list() -> Result<(), TestCaseError> {
    let head = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\na: &x [1]\nprofiles:\n";
    for enabled in ["- name: *x", "- - *x"] {
        let plugins =
            format!("- name: p\n  plugins:\n    balance:\n      enabled:\n      {enabled}\n");
        check(format!("{head}{plugins}").as_bytes())?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bits(flips in prop::collection::vec((any::<usize>(), 0..8_u32), 1..6)) {
        let mut bytes = POLICY.as_bytes().to_vec();
        for (at, bit) in flips {
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
        }
        check(&bytes)?;
    }

    #[test]
    fn cut_and_spliced(cut in any::<usize>(), skip in 0..40_usize, from in any::<usize>()) {
        let bytes = POLICY.as_bytes();
        let cut = place(cut, bytes.len());
        check(&bytes[..cut])?;
        check(&[&bytes[..cut], &bytes[(cut + skip).min(bytes.len())..]].concat())?;
        check(&[&bytes[..cut], &bytes[place(from, bytes.len())..]].concat())?;
    }

    #[test]
    fn pieces_put_in(pieces in prop::collection::vec((any::<usize>(), 0..PIECES.len()), 1..6)) {
        let mut text = POLICY.to_owned();
        for (at, piece) in pieces {
            let at = (0..=place(at, text.len())).rev().find(|&at| text.is_char_boundary(at));
            text.insert_str(at.unwrap_or(0), PIECES[piece]);
        }
        check(text.as_bytes())?;
        check(text.replace('\n', "\r\n").as_bytes())?;
        check(format!("\u{feff}{text}").as_bytes())?;
    }

    #[test]
    fn inside_of_other_files(
        wrapper in 0..WRAPPED.len(),
        skip in 0..2_usize,
        pieces in prop::collection::vec((any::<usize>(), 0..PIECES.len()), 0..4),
        outside in any::<bool>(),
    ) {
        let (before, indent) = WRAPPED[wrapper];
        // Values have no header; and without one the rest is still looked at.
        let mut lines: Vec<String> =
            POLICY.lines().skip(skip * 2).map(|line| format!("{indent}{line}\n")).collect();
        for (at, piece) in &pieces {
            let at = at % lines.len();
            // Behind the indentation, or it would end the text.
            let place = if outside { 0 } else { indent.len() };
            lines[at].insert_str(place, PIECES[*piece]);
        }
        let text = format!("{before}{}", lines.concat());
        check(text.as_bytes())?;
        check(text.replace('\n', "\r\n").as_bytes())?;
        let quoted = format!("data: {:?}\nkind: ConfigMap\n", lines.concat());
        check(quoted.as_bytes())?;
    }

    #[test]
    fn only_pieces(pieces in prop::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        check(text.as_bytes())?;
    }

    #[test]
    fn lines_moved_and_repeated(lines in prop::collection::vec((any::<usize>(), 0..6_usize), 1..40)) {
        let known: Vec<&str> = POLICY.lines().collect();
        let text: String = lines
            .into_iter()
            .map(|(at, indent)| format!("{}{}\n", " ".repeat(indent), known[at % known.len()]))
            .collect();
        check(format!("apiVersion: descheduler/v1alpha2\n{text}").as_bytes())?;
    }

    #[test]
    fn configurations_of_the_scheduler(
        lines in prop::collection::vec((any::<usize>(), 0..8_usize), 1..30),
        pieces in prop::collection::vec((any::<usize>(), 0..PIECES.len()), 1..4),
        cut in any::<usize>(),
    ) {
        let mut text = SCHEDULER.to_owned();
        for (at, piece) in pieces {
            // Places are counted in letters of one byte.
            let piece = PIECES[piece];
            text.insert_str(place(at, text.len()), if piece.is_ascii() { piece } else { "x" });
        }
        check_scheduler(text.as_bytes())?;
        check_scheduler(&SCHEDULER.as_bytes()[..place(cut, SCHEDULER.len())])?;
        let known: Vec<&str> = SCHEDULER.lines().collect();
        let moved = lines
            .into_iter()
            .map(|(at, indent)| format!("{}{}\n", " ".repeat(indent), known[at % known.len()]));
        let head: String = SCHEDULER.lines().take(2).map(|line| format!("{line}\n")).collect();
        check_scheduler(format!("{head}{}", moved.collect::<String>()).as_bytes())?;
    }
}

#[test]
fn deep_and_wide() {
    for open in
        ["[", "{", "{a: ", "- ", "- - ", "? ", "&a [", "!!seq [", "a: &a {b: ", "\"", "|\n "]
    {
        for times in [10, 63, 64, 65, 1000, 100_000] {
            check(open.repeat(times).as_bytes()).expect("no failure");
            let inside = format!("{POLICY}extra: {}", open.repeat(times));
            check(inside.as_bytes()).expect("no failure");
        }
    }
    let wide: String = (0..20_000).map(|i| format!("key{i}: {i}\n")).collect();
    check(format!("{POLICY}{wide}").as_bytes()).expect("no failure");
    let same = "maxNoOfPodsToEvictTotal: 1\n".repeat(20_000);
    check(format!("{POLICY}{same}").as_bytes()).expect("no failure");
    let long = format!("{POLICY}x: {}", "a".repeat(1 << 20));
    check(long.as_bytes()).expect("no failure");
    let merges: String = (1..100).map(|i| format!("m{i}: &m{i} {{<<: [*low, *low]}}\n")).collect();
    check(format!("{POLICY}{merges}").as_bytes()).expect("no failure");
}
