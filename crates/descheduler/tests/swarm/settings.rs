//! Policies, as the few things in which those of the swarm differ.

use std::fmt::Write;

use descheduler_engine::{LimitKind, Policy};
use descheduler_policy::{Style, load, render};
use descheduler_scheduler::ScoringStrategy;
use descheduler_sim::{Chance, Dice};
use descheduler_strategies::REGISTRY;

use crate::rules::{HIGH, LOW, OLD, RULES, Rule};

/// How long pods may live: no run takes so long that a new pod gets there.
const OLD_ARGS: &str = "{maxPodLifeTimeSeconds: 2592000}";

/// Lines of DefaultEvictor's arguments.
const EVICTOR: [&str; 4] = [
    "nodeFit: true",
    "evictLocalStoragePods: true",
    "priorityThreshold: {value: 500}",
    "minReplicas: 2",
];

/// What a policy is made of.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) mode: String,
    pub(crate) rules: Vec<Rule>,
    /// In total, of a node, in a namespace.
    pub(crate) limits: [Option<u64>; 3],
    /// `loopBreaker`, as it is written.
    pub(crate) breaker: Option<String>,
    /// Lines of DefaultEvictor's arguments.
    pub(crate) evictor: Vec<String>,
}

const LIMITS: [LimitKind; 3] = [LimitKind::Total, LimitKind::Node, LimitKind::Namespace];

impl Settings {
    pub(crate) fn random(dice: &mut Dice) -> Self {
        let mut rules: Vec<Rule> = Vec::new();
        let packs = dice.pick(4) == 0;
        let many = dice.pick(3) > 0;
        for rule in RULES {
            let fits = match rule.name {
                LOW => !packs,
                HIGH => packs,
                OLD => rule.args == OLD_ARGS,
                _ => true,
            };
            let chosen = dice.pick(if many { 3 } else { 12 }) == 0;
            if fits && chosen && !rules.iter().any(|other| other.name == rule.name) {
                rules.push(*rule);
            }
        }
        if rules.is_empty() {
            let usable = RULES.iter().filter(|rule| ![HIGH, OLD].contains(&rule.name));
            let usable: Vec<&Rule> = usable.collect();
            rules.push(*usable[dice.pick(usable.len())]);
        }
        let mut limit = |values: &[Option<u64>]| values[dice.pick(values.len())];
        let limits = [
            limit(&[None, None, Some(1), Some(2), Some(5)]),
            limit(&[None, None, Some(1), Some(2)]),
            limit(&[None, None, Some(1), Some(3)]),
        ];
        let breakers = [None, None, Some("{initial: 1m, max: 2h}"), Some("{initial: 30m}")];
        let modes = ["Improving", "Improving", "Improving", "Feasible", "Off"];
        let mode = modes[dice.pick(modes.len())].to_owned();
        let breaker = breakers[dice.pick(breakers.len())].map(str::to_owned);
        let evictor = EVICTOR.iter().filter(|_| dice.pick(6) == 0);
        Self { mode, rules, limits, breaker, evictor: evictor.map(|&line| line.into()).collect() }
    }

    pub(crate) fn is_improving(&self) -> bool {
        self.mode == "Improving"
    }

    /// Whether some line of DefaultEvictor's arguments is there.
    pub(crate) fn has(&self, line: &str) -> bool {
        self.evictor.iter().any(|known| known == line)
    }

    pub(crate) fn runs(&self, strategy: &str) -> bool {
        self.rules.iter().any(|rule| rule.name == strategy)
    }

    /// The policy.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("a string takes all");
        line("apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy".to_owned());
        line(format!("placement: {{mode: {}}}", self.mode));
        for (kind, limit) in LIMITS.iter().zip(self.limits) {
            if let Some(limit) = limit {
                line(format!("{}: {limit}", kind.field()));
            }
        }
        if let Some(breaker) = &self.breaker {
            line(format!("loopBreaker: {breaker}"));
        }
        line("profiles:\n- name: swarm\n  pluginConfig:\n  - name: DefaultEvictor".to_owned());
        line(format!("    args: {{{}}}", self.evictor.join(", ")));
        for Rule { name, args, .. } in &self.rules {
            line(format!("  - name: {name}\n    args: {args}"));
        }
        line("  plugins:".to_owned());
        for point in ["deschedule", "balance"] {
            let rules = self.rules.iter().filter(|rule| rule.point == point);
            let names: Vec<&str> = rules.map(|rule| rule.name).collect();
            line(format!("    {point}: {{enabled: [{}]}}", names.join(", ")));
        }
        text
    }

    /// Reads what [`Settings::text`] writes.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let value = |prefix: &str| text.lines().find_map(|line| line.strip_prefix(prefix));
        let mode = value("placement: {mode: ").and_then(|rest| rest.strip_suffix('}'));
        let limit = |kind: LimitKind| {
            let text = value(&format!("{}: ", kind.field()));
            text.map(|text| text.parse().map_err(|_| format!("`{text}` is no limit"))).transpose()
        };
        let mut lines = text.lines().skip_while(|line| !line.starts_with("  - name: "));
        let mut plugins = Vec::new();
        while let Some(name) = lines.next().and_then(|line| line.strip_prefix("  - name: ")) {
            let args = lines.next().and_then(|line| line.strip_prefix("    args: "));
            plugins.push((name, args.ok_or_else(|| format!("{name} has no arguments"))?));
        }
        let mut plugins = plugins.into_iter();
        let evictor = plugins.next().map_or("{}", |(_, args)| args);
        let evictor = EVICTOR.iter().filter(|line| evictor.contains(**line));
        let rules = plugins.map(|(name, args)| {
            let mut known = RULES.iter().filter(|rule| rule.name == name && rule.args == args);
            known.next().copied().ok_or_else(|| format!("{name} {args}: there is no rule for it"))
        });
        Ok(Self {
            mode: mode.ok_or("`placement` is missing")?.to_owned(),
            rules: rules.collect::<Result<_, _>>()?,
            limits: [limit(LIMITS[0])?, limit(LIMITS[1])?, limit(LIMITS[2])?],
            breaker: value("loopBreaker: ").map(str::to_owned),
            evictor: evictor.map(|&line| line.to_owned()).collect(),
        })
    }

    pub(crate) fn policy(&self) -> Policy {
        let text = self.text();
        let mut policy = match load(text.as_bytes(), "policy.yaml", &REGISTRY) {
            (Some(policy), _) => policy,
            (None, said) => panic!("{}\n{text}", render(&said, text.as_bytes(), Style::Plain)),
        };
        if self.runs(HIGH) {
            for profile in &mut policy.scheduler.profiles {
                profile.fit.strategy = ScoringStrategy::MostAllocated;
            }
        }
        policy
    }
}
