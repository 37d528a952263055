//! The command line, as types.

pub(crate) mod service;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use descheduler_cluster::GoDuration;
use descheduler_cluster::duration::DurationError;
use descheduler_engine::Placement;
use jiff::{SignedDuration, Timestamp};

use crate::capture::Layout;
use service::{ServiceArgs, dashed};

/// Finds pods that would be better off elsewhere, so that the scheduler can place them anew.
#[derive(Debug, Parser)]
#[command(
    name = "descheduler",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    override_usage = "descheduler <COMMAND>\n       \
                      descheduler --policy-config-file <FILE> [OPTIONS]"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Flags without a command run the service.
    #[command(flatten)]
    pub(crate) service: ServiceArgs,
}

impl Cli {
    /// Reads a command line.
    ///
    /// # Errors
    ///
    /// It makes no sense, or asks for help.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        // Of the service's flags the last one counts, as in upstream; a command's are given once.
        let again = |flag: Arg| match flag.get_action() {
            ArgAction::Append => flag,
            _ => {
                let itself = flag.get_id().clone();
                flag.overrides_with(itself)
            }
        };
        let cli = Self::command().mut_args(again);
        Self::from_arg_matches(&cli.try_get_matches_from(dashed(arguments))?)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Plan(PlanArgs),
    Report(ReportArgs),
    Explain(ExplainArgs),
    Simulate(SimulateArgs),
    Place(PlaceArgs),
    Validate(ValidateArgs),
    Convert(ConvertArgs),
    Capture(CaptureArgs),
    Strategies(StrategiesArgs),
    /// Print the version
    Version,
    Completion(CompletionArgs),
}

/// What stands below the flags of `plan`.
const PLAN_HELP: &str = "\
A dump of a cluster, for --cluster; kinds that are missing are no error:
  kubectl get -A -o yaml \\
      nodes,pods,namespaces,priorityclasses,pdb,pvc,pv,storageclasses,rs,rc,sts,deploy,jobs,ds,svc

Exit codes: 0 done, 1 you can fix it, 2 environment or bug; 3 with --check when there is work";

/// Show what would be evicted and why, and what stays and why; changes nothing
#[derive(Args, Debug)]
#[command(
    override_usage = "descheduler plan --policy <FILE> (--cluster <PATH> | --kubeconfig <FILE>) [OPTIONS]",
    after_help = PLAN_HELP
)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    /// How to print the plan
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,

    /// What to remember from one run to the next, so that moves that did not help are not planned
    /// again and again; written anew by each run
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    /// Exit with 3 when anything would be evicted
    #[arg(long)]
    pub(crate) check: bool,

    /// Say on standard error what it cost, as one line of JSON
    #[arg(long)]
    pub(crate) timings: bool,
}

/// Write a plan as one page of HTML that needs nothing else; changes nothing
#[derive(Args, Debug)]
#[command(
    override_usage = "descheduler report [FILE] --policy <FILE> (--cluster <PATH> | --kubeconfig <FILE>) [OPTIONS]"
)]
pub(crate) struct ReportArgs {
    /// Where to put it [default: standard output]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    /// What runs of `plan` remember; only read here
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    /// How to write it; there is one way
    #[arg(short, long, value_name = "FORMAT", default_value = "html")]
    pub(crate) output: ReportFormat,
}

/// What decisions are made from.
#[derive(Args, Clone, Debug)]
pub(crate) struct InputArgs {
    /// The policy, descheduler/v1alpha2 or v1alpha1
    #[arg(long, value_name = "FILE", alias = "policy-config-file")]
    pub(crate) policy: PathBuf,

    /// A file or folder with objects of the cluster in YAML or JSON, or - for standard input; may
    /// be given several times
    #[arg(long, value_name = "PATH", conflicts_with = "kubeconfig")]
    pub(crate) cluster: Vec<PathBuf>,

    /// Instead of files: how to reach a live cluster [default: the service account, in a pod]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The moment that ages are counted from [default: that of a capture, else the newest timestamp
    /// in the cluster files; live: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    pub(crate) now: Option<Timestamp>,

    /// What must be known about where a pod would land [default: what the policy says, else
    /// improving]
    #[arg(long, value_name = "MODE", ignore_case = true)]
    pub(crate) placement: Option<PlacementMode>,

    #[command(flatten)]
    pub(crate) scheduler: SchedulerArgs,
}

/// Show what every strategy and every check says about one pod or node; changes nothing
#[derive(Args, Debug)]
#[command(override_usage = "descheduler explain pod <NAMESPACE/NAME> [OPTIONS]\n       \
                            descheduler explain node <NAME> [OPTIONS]")]
pub(crate) struct ExplainArgs {
    #[command(subcommand)]
    pub(crate) command: ExplainCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExplainCommand {
    /// Why a pod would be evicted or not, where it would go, and what would have to change
    Pod(SubjectArgs),
    /// What each strategy thinks of a node, who would leave it and who would come
    Node(SubjectArgs),
}

/// What is to be explained.
#[derive(Args, Debug)]
pub(crate) struct SubjectArgs {
    /// The pod, as namespace/name, or the node
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    /// What runs of `plan` remember; only read here
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    /// How to print the explanation
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
}

/// What stands below the flags of `simulate`.
const SIMULATE_HELP: &str = "\
The cluster lives on as a model: evicted pods end, their owners make new ones, the scheduler
places them, time passes, and the next cycle is planned. Where several nodes could win, the seed
decides; the same seed gives the same simulation.

Exit codes: 0 done, 1 you can fix it, 2 environment or bug";

/// Show what would happen over many cycles, and whether the policy settles; changes nothing
#[derive(Args, Debug)]
#[command(
    override_usage = "descheduler simulate --policy <FILE> (--cluster <PATH> | --kubeconfig <FILE>) [OPTIONS]",
    after_help = SIMULATE_HELP
)]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    /// Another policy, to be put beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) compare: Option<PathBuf>,

    /// Stop after so many cycles if the policy has not settled by then
    #[arg(long, value_name = "NUMBER", default_value = "20",
        value_parser = clap::value_parser!(u32).range(1..=CYCLES_MAX))]
    pub(crate) cycles: u32,

    /// From one cycle to the next
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = interval)]
    pub(crate) interval: SignedDuration,

    /// What decides where several things could happen
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,

    /// Follow every choice that the scheduler has, on a cluster of fewer than 100 nodes
    #[arg(long, conflicts_with = "compare")]
    pub(crate) exhaustive: bool,

    /// How to print what happens
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
}

/// More cycles than anybody would read, and fewer than a counter holds.
const CYCLES_MAX: i64 = 100_000;

/// Which scheduler to reckon with.
#[derive(Args, Clone, Debug)]
pub(crate) struct SchedulerArgs {
    /// What kube-scheduler is configured with [default: what it does by itself]
    #[arg(long, value_name = "FILE")]
    pub(crate) scheduler_config: Option<PathBuf>,

    /// The version of kube-scheduler: 1.34, 1.35, 1.36 or 1.37 [default: 1.36, or what
    /// the live cluster has]
    #[arg(long, value_name = "VERSION")]
    pub(crate) scheduler_version: Option<String>,
}

/// Show where the scheduler could put a pod now, how well, and why not elsewhere
#[derive(Args, Debug)]
#[command(
    override_usage = "descheduler place (--cluster <PATH> | --kubeconfig <FILE>) --pod <NAMESPACE/NAME> [OPTIONS]"
)]
pub(crate) struct PlaceArgs {
    /// A file or folder with objects of the cluster in YAML or JSON, or - for standard input; may
    /// be given several times
    #[arg(long, value_name = "PATH", conflicts_with = "kubeconfig")]
    pub(crate) cluster: Vec<PathBuf>,

    /// Instead of files: how to reach a live cluster [default: the service account, in a pod]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The pod, as if it had no node yet
    #[arg(long, value_name = "NAMESPACE/NAME", required_unless_present = "cases")]
    pub(crate) pod: Option<String>,

    /// Instead of a cluster: cases in JSON, one a line or in an array, each a cluster of its own
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cluster", "kubeconfig", "pod", "now"])]
    pub(crate) cases: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) scheduler: SchedulerArgs,

    /// The moment that ages are counted from [default: that of a capture, else the newest timestamp
    /// in the cluster files; live: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    pub(crate) now: Option<Timestamp>,

    /// How to print the answer [default: text; json for cases]
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
}

/// Say what is wrong with policies, with file, line and column; needs no cluster
#[derive(Args, Debug)]
#[command(
    override_usage = "descheduler validate <FILE>... [OPTIONS]",
    after_help = "Exit codes: 0 no errors, 1 errors, or with --strict warnings"
)]
pub(crate) struct ValidateArgs {
    /// Policies, descheduler/v1alpha2 or v1alpha1, by themselves, in a ConfigMap or in Helm values;
    /// - for standard input
    #[arg(value_name = "FILE", required_unless_present = "policy")]
    pub(crate) files: Vec<PathBuf>,

    /// The same, as the other commands spell it
    #[arg(long, value_name = "FILE", alias = "policy-config-file")]
    pub(crate) policy: Vec<PathBuf>,

    /// Fail on warnings too
    #[arg(long)]
    pub(crate) strict: bool,

    /// Warn of what does not go with this placement mode [default: that of the policy]
    #[arg(long, value_name = "MODE", ignore_case = true)]
    pub(crate) placement: Option<PlacementMode>,

    #[command(flatten)]
    pub(crate) scheduler: SchedulerArgs,

    /// How to print what is found
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
}

/// Print the v1alpha2 policy that a v1alpha1 policy stands for, with comments on what changed
#[derive(Args, Debug)]
#[command(override_usage = "descheduler convert <FILE>")]
pub(crate) struct ConvertArgs {
    /// The policy, descheduler/v1alpha1; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "policy", conflicts_with = "policy")]
    pub(crate) file: Option<PathBuf>,

    /// The same, as the other commands spell it
    #[arg(long, value_name = "FILE", alias = "policy-config-file")]
    pub(crate) policy: Option<PathBuf>,
}

/// What stands below the flags of `capture`.
const CAPTURE_HELP: &str = "\
A name that ends in .yaml or .yml is written as YAML, any other as JSON; .gz behind it compresses.
`--redact` replaces every name and value by words that chance gives, the same for the same, keeps
their order, and leaves out what no plan looks at: the plan has the same moves, of other names.";

/// Put all that plans are made from into one file that `--cluster` reads; changes nothing
#[derive(Args, Debug)]
#[command(
    override_usage = "descheduler capture [FILE] (--kubeconfig <FILE> | --cluster <PATH>) [OPTIONS]",
    after_help = CAPTURE_HELP
)]
pub(crate) struct CaptureArgs {
    /// Where to put it [default: standard output]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Instead of a live cluster: a file or folder with its objects, or - for standard input; may be
    /// given several times
    #[arg(long, value_name = "PATH", conflicts_with = "kubeconfig")]
    pub(crate) cluster: Vec<PathBuf>,

    /// How to reach the cluster [default: the service account, in a pod]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// How to write it [default: what the name of the file says, else json]
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) output: Option<Layout>,

    /// Replace names and values, and leave out what no plan looks at
    #[arg(long)]
    pub(crate) redact: bool,

    /// With --redact: words that occur in this policy stay, so that it selects the same
    #[arg(long, value_name = "FILE", alias = "policy-config-file", requires = "redact")]
    pub(crate) policy: Option<PathBuf>,

    /// The moment that ages are counted from [default: now; for files, as if they were planned]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    pub(crate) now: Option<Timestamp>,
}

/// List the strategies, or show what one does, its arguments and an example
#[derive(Args, Debug)]
#[command(override_usage = "descheduler strategies [NAME] [OPTIONS]")]
pub(crate) struct StrategiesArgs {
    /// A strategy, or DefaultEvictor for the protections [default: all of them]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// How to print them
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
}

/// What stands below the flags of `completion`.
const COMPLETION_HELP: &str = "\
bash:        source <(descheduler completion bash)
zsh:         descheduler completion zsh > \"${fpath[1]}/_descheduler\"
fish:        descheduler completion fish | source
powershell:  descheduler completion powershell | Out-String | Invoke-Expression";

/// Print a script that makes a shell complete commands and flags
#[derive(Args, Debug)]
#[command(after_help = COMPLETION_HELP)]
pub(crate) struct CompletionArgs {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlacementMode {
    Off,
    Feasible,
    Improving,
}

impl From<PlacementMode> for Placement {
    fn from(mode: PlacementMode) -> Self {
        match mode {
            PlacementMode::Off => Self::Off,
            PlacementMode::Feasible => Self::Feasible,
            PlacementMode::Improving => Self::Improving,
        }
    }
}

/// A span of time as Go writes it, above zero.
fn interval(text: &str) -> Result<SignedDuration, String> {
    let span: GoDuration = text.parse().map_err(|error: DurationError| error.to_string())?;
    match span.as_nanos() {
        nanos if nanos > 0 => Ok(SignedDuration::from_nanos(nanos)),
        _ => Err("expected a span of time above zero, such as 5m".to_owned()),
    }
}

fn moment(text: &str) -> Result<Timestamp, &'static str> {
    text.parse().map_err(|_| "expected a moment with its offset, such as 2026-01-31T12:00:00Z")
}
