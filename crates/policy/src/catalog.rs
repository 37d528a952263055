//! What plugins there are, and which arguments they take.

use descheduler_engine::{Args, ArgumentDoc, EvictorDef, Pass, Registry, StrategyDef};

/// A registry with what is known about its arguments.
pub(crate) struct Catalog<'r> {
    registry: &'r Registry,
    arguments: Vec<(&'static str, Vec<ArgumentDoc>)>,
}

/// What a plugin's name stands for.
#[derive(Clone, Copy)]
pub(crate) enum Plugin {
    /// A strategy that can run.
    Strategy(&'static StrategyDef),
    /// The protections.
    Evictor(&'static EvictorDef),
    /// Nothing.
    Unknown,
}

impl Plugin {
    /// The extension points where it can be enabled.
    pub(crate) fn extension_points(self) -> &'static [&'static str] {
        match self {
            Self::Strategy(StrategyDef { pass: Pass::Deschedule, .. }) => &["deschedule"],
            Self::Strategy(StrategyDef { pass: Pass::Balance, .. }) => &["balance"],
            Self::Evictor(_) => &["filter", "preevictionfilter"],
            Self::Unknown => &[],
        }
    }
}

impl<'r> Catalog<'r> {
    pub(crate) fn new(registry: &'r Registry) -> Self {
        let mut arguments = vec![(registry.evictor.name, Args::describe(registry.evictor.build))];
        arguments
            .extend(registry.strategies.iter().map(|def| (def.name, Args::describe(def.build))));
        Self { registry, arguments }
    }

    pub(crate) fn evictor(&self) -> &'static EvictorDef {
        self.registry.evictor
    }

    pub(crate) fn find(&self, name: &str) -> Plugin {
        let Registry { strategies, evictor } = self.registry;
        if name == evictor.name {
            return Plugin::Evictor(evictor);
        }
        match strategies.iter().find(|def| def.name == name) {
            Some(&def) => Plugin::Strategy(def),
            None => Plugin::Unknown,
        }
    }

    /// Every name that means something.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let Registry { strategies, evictor } = self.registry;
        strategies.iter().map(|def| def.name).chain([evictor.name]).collect()
    }

    /// The plugins that have an argument of this name.
    pub(crate) fn owners(&self, argument: &str) -> Vec<&'static str> {
        let takes = |docs: &[ArgumentDoc]| docs.iter().any(|doc| doc.name == argument);
        self.arguments.iter().filter(|(_, docs)| takes(docs)).map(|(name, _)| *name).collect()
    }

    /// Whether the plugin has an argument of this name, at any depth.
    pub(crate) fn has(&self, plugin: &str, argument: &str) -> bool {
        fn within(docs: &[ArgumentDoc], argument: &str) -> bool {
            docs.iter().any(|doc| doc.name == argument || within(&doc.children, argument))
        }
        let mut arguments = self.arguments.iter().filter(|(name, _)| *name == plugin);
        arguments.any(|(_, docs)| within(docs, argument))
    }
}
