//! What is said about one pod or node, check by check.

use descheduler_cluster::{NodeId, Snapshot};
use descheduler_scheduler::View;

/// One check of one pod or node, with the numbers compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, in a word or two.
    pub check: String,
    /// Whether that speaks for the pod's going; a single `false` keeps it.
    pub passes: bool,
    /// The numbers and the objects compared; may be empty.
    pub detail: String,
    /// The nearest change that would turn the answer, where it is known.
    pub change: Option<String>,
}

impl Finding {
    /// A check without a known change.
    pub fn new(check: impl Into<String>, passes: bool, detail: impl Into<String>) -> Self {
        Self { check: check.into(), passes, detail: detail.into(), change: None }
    }

    /// The same with what would have to change, which is of interest only if it does not pass.
    #[must_use]
    pub fn or_else(mut self, change: impl Into<String>) -> Self {
        self.change = (!self.passes).then(|| change.into());
        self
    }
}

/// Counts that belong together, such as the pods of each domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The heads of its columns.
    pub columns: Vec<String>,
    /// Its rows, each with a cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// The question to a strategy what it thinks of one pod or node, and its answers so far.
pub struct Inquiry<'t, 's> {
    view: &'t View<'s>,
    nodes: &'t [NodeId],
    knows_places: bool,
    pub(crate) account: Account,
}

/// What a strategy says about one pod or node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Its checks, in the order made.
    pub findings: Vec<Finding>,
    /// The counts that they go by.
    pub tables: Vec<Table>,
}

impl<'t, 's> Inquiry<'t, 's> {
    pub(crate) fn new(view: &'t View<'s>, nodes: &'t [NodeId], knows_places: bool) -> Self {
        Self { view, nodes, knows_places, account: Account::default() }
    }

    /// The cluster as it was found.
    pub fn snapshot(&self) -> &'s Snapshot {
        self.view.snapshot()
    }

    /// The cluster after everything that is planned when the question is asked.
    pub fn view(&self) -> &'t View<'s> {
        self.view
    }

    /// The nodes that are worked on, by name.
    pub fn nodes(&self) -> &'t [NodeId] {
        self.nodes
    }

    /// Whether moves are judged by where they lead, as [`crate::Turn::knows_places`].
    pub fn knows_places(&self) -> bool {
        self.knows_places
    }

    /// Adds an answer.
    pub fn say(&mut self, finding: Finding) {
        self.account.findings.push(finding);
    }

    /// Adds an answer without a known change.
    pub fn check(&mut self, check: impl Into<String>, passes: bool, detail: impl Into<String>) {
        self.say(Finding::new(check, passes, detail));
    }

    /// Adds counts.
    pub fn table(&mut self, table: Table) {
        self.account.tables.push(table);
    }

    /// Whether all answers so far speak for the pod's going.
    pub fn passes(&self) -> bool {
        self.account.passes()
    }
}

impl Account {
    /// Whether all checks speak for the pod's going.
    pub fn passes(&self) -> bool {
        self.findings.iter().all(|finding| finding.passes)
    }
}
