//! The flags of the service: upstream's, all of them, with its defaults (docs/spec/runtime.md
//! section 1), and a few of our own.
//!
//! As Go's pflag has it, a flag given twice counts as it was given last, a switch is `--flag` or
//! `--flag=false`, and `_` in the name of a flag stands for `-`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use descheduler_cluster::GoDuration;
use descheduler_cluster::duration::DurationError;

use super::{PlacementMode, SchedulerArgs};

/// Everything that a run without a command may be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServiceArgs {
    /// The policy, descheduler/v1alpha2 or v1alpha1; read anew before each cycle
    #[arg(long, alias = "policy", value_name = "FILE", help_heading = RUN)]
    pub(crate) policy_config_file: Option<PathBuf>,

    /// From the beginning of one cycle to that of the next, as 5m; 0 for one cycle and no more
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = span, help_heading = RUN)]
    pub(crate) descheduling_interval: Duration,

    /// Make plans and tell them, and change nothing
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_name = "BOOL", value_parser = switch,
        hide_default_value = true, help_heading = RUN)]
    pub(crate) dry_run: bool,

    /// What must be known about where a pod would land [default: what the policy says, else
    /// improving]
    #[arg(long, value_name = "MODE", ignore_case = true, help_heading = RUN)]
    pub(crate) placement: Option<PlacementMode>,

    #[command(flatten, next_help_heading = RUN)]
    pub(crate) scheduler: SchedulerArgs,

    /// Switches such as EvictionsInBackground=true, separated by commas
    #[arg(long, value_name = "NAME=BOOL,...", value_parser = gates, action = clap::ArgAction::Append,
        help_heading = RUN)]
    pub(crate) feature_gates: Vec<Gates>,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
    #[command(flatten)]
    pub(crate) logging: LoggingArgs,
    #[command(flatten)]
    pub(crate) tracing: TracingArgs,
}

const RUN: &str = "Without a command: the service";

/// How the API server is reached.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The connection of the service")]
pub(crate) struct ClientArgs {
    /// How to reach the cluster [default: the service account, in a pod]
    #[arg(long, visible_alias = "kubeconfig", value_name = "FILE")]
    pub(crate) client_connection_kubeconfig: Option<PathBuf>,

    /// Requests a second; 0 stands for 5, less for as many as there are
    #[arg(long, value_name = "NUMBER", default_value = "0", allow_negative_numbers = true)]
    pub(crate) client_connection_qps: f32,

    /// Requests that may come at once; 0 stands for 10
    #[arg(long, value_name = "NUMBER", default_value = "0", allow_negative_numbers = true)]
    pub(crate) client_connection_burst: i32,
}

/// How one of several replicas is chosen.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Leader election of the service")]
pub(crate) struct ElectionArgs {
    /// Act only while holding a lease
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_name = "BOOL", value_parser = switch,
        hide_default_value = true)]
    pub(crate) leader_elect: bool,

    /// How long others wait for a holder that is silent
    #[arg(long, value_name = "DURATION", default_value = "2m17s", value_parser = span)]
    pub(crate) leader_elect_lease_duration: Duration,

    /// How long to act without having renewed the lease
    #[arg(long, value_name = "DURATION", default_value = "1m47s", value_parser = span)]
    pub(crate) leader_elect_renew_deadline: Duration,

    /// How long between two tries to take or renew it
    #[arg(long, value_name = "DURATION", default_value = "26s", value_parser = span)]
    pub(crate) leader_elect_retry_period: Duration,

    /// Only leases are there
    #[arg(long, value_name = "KIND", default_value = "leases")]
    pub(crate) leader_elect_resource_lock: String,

    /// The name of the lease
    #[arg(long, value_name = "NAME", default_value = "descheduler")]
    pub(crate) leader_elect_resource_name: String,

    /// Its namespace
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub(crate) leader_elect_resource_namespace: String,
}

/// The HTTPS endpoint (docs/spec/runtime.md section 1.4).
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The HTTPS endpoint of the service")]
pub(crate) struct ServingArgs {
    /// Where to listen
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub(crate) bind_address: IpAddr,

    /// The port; 0 for none
    #[arg(long, value_name = "PORT", default_value = "10258", allow_negative_numbers = true)]
    pub(crate) secure_port: i64,

    /// Accepted, and without effect, as upstream
    #[arg(long, value_name = "FOLDER", default_value = "apiserver.local.config/certificates")]
    pub(crate) cert_dir: PathBuf,

    /// The certificate, in PEM [default: one that is made at the start]
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert_file: Option<PathBuf>,

    /// Its key, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_private_key_file: Option<PathBuf>,

    /// Another certificate and its key, with the domains that it is for; may be given several times
    #[arg(long, value_name = "CERT,KEY[:DOMAIN,...]",
        action = clap::ArgAction::Append)]
    pub(crate) tls_sni_cert_key: Vec<String>,

    /// Cipher suites, by their names in Go
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) tls_cipher_suites: Vec<String>,

    /// Key exchanges, by their numbers in Go
    #[arg(long, value_name = "NUMBER,...", value_delimiter = ',')]
    pub(crate) tls_curve_preferences: Vec<i32>,

    /// The oldest version, such as VersionTLS13 [default: VersionTLS12]
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    pub(crate) tls_min_version: String,

    /// Serve HTTP/2, too
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_name = "BOOL", value_parser = switch,
        hide_default_value = true)]
    pub(crate) enable_http2: bool,

    /// Streams in one connection; 0 stands for 100
    #[arg(long, value_name = "NUMBER", default_value = "0")]
    pub(crate) http2_max_streams_per_connection: u32,

    /// Accepted, and without effect: HTTP/2 is off unless `--enable-http2` is given
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_name = "BOOL", value_parser = switch,
        hide_default_value = true)]
    pub(crate) disable_http2_serving: bool,

    /// Let others listen on the port (SO_REUSEPORT)
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_name = "BOOL", value_parser = switch,
        hide_default_value = true)]
    pub(crate) permit_port_sharing: bool,

    /// Let others listen on the address (SO_REUSEADDR)
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_name = "BOOL", value_parser = switch,
        hide_default_value = true)]
    pub(crate) permit_address_sharing: bool,

    /// Serve no metrics
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_name = "BOOL", value_parser = switch,
        hide_default_value = true)]
    pub(crate) disable_metrics: bool,
}

/// What is logged, and how (docs/spec/runtime.md section 1.6).
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The log of the service")]
pub(crate) struct LoggingArgs {
    /// How much to say
    #[arg(
        short = 'v',
        long = "v",
        value_name = "LEVEL",
        default_value = "0",
        allow_negative_numbers = true
    )]
    pub(crate) verbosity: i32,

    /// How much to say of which files, as upstream; accepted
    #[arg(long, value_name = "PATTERN=LEVEL,...", default_value = "", hide_default_value = true)]
    pub(crate) vmodule: String,

    /// text or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) logging_format: String,

    /// Accepted: nothing waits to be flushed
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = span)]
    pub(crate) log_flush_frequency: Duration,

    /// Accepted, as upstream, where it cannot be switched on
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_name = "BOOL", value_parser = switch,
        hide_default_value = true)]
    pub(crate) log_text_split_stream: bool,

    /// Accepted, as upstream, where it cannot be switched on
    #[arg(long, value_name = "BYTES", default_value = "0")]
    pub(crate) log_text_info_buffer_size: String,

    /// Accepted, as upstream, where it cannot be switched on
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_name = "BOOL", value_parser = switch,
        hide_default_value = true)]
    pub(crate) log_json_split_stream: bool,

    /// Accepted, as upstream, where it cannot be switched on
    #[arg(long, value_name = "BYTES", default_value = "0")]
    pub(crate) log_json_info_buffer_size: String,
}

/// Traces (docs/spec/runtime.md section 12).
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Traces of the service")]
pub(crate) struct TracingArgs {
    /// The collector, as host:port
    #[arg(long, value_name = "ADDRESS", default_value = "", hide_default_value = true)]
    pub(crate) otel_collector_endpoint: String,

    /// The authority behind its certificate, in PEM
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    pub(crate) otel_transport_ca_cert: String,

    /// The attribute `service.name`
    #[arg(long, value_name = "NAME", default_value = "descheduler")]
    pub(crate) otel_service_name: String,

    /// The attribute `service.namespace`
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) otel_trace_namespace: String,

    /// The share of cycles that is traced
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) otel_sample_rate: f64,

    /// Go on without traces when they cannot be set up
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_name = "BOOL", value_parser = switch,
        hide_default_value = true)]
    pub(crate) otel_fallback_no_op_on_error: bool,
}

/// Feature gates, as one flag has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gates(BTreeMap<String, bool>);

/// Which features are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    /// An eviction may go on in the background (docs/spec/runtime.md section 8).
    pub(crate) evictions_in_background: bool,
}

impl Features {
    /// What all the flags together say, the later ones over the earlier ones; or a name that nobody
    /// knows.
    pub(crate) fn of(flags: &[Gates]) -> Result<Self, String> {
        let all: BTreeMap<&str, bool> =
            flags.iter().flat_map(|Gates(gates)| gates).map(|(name, on)| (&**name, *on)).collect();
        let known = ["EvictionsInBackground", "AllAlpha", "AllBeta"];
        if let Some(name) = all.keys().find(|name| !known.contains(name)) {
            return Err((*name).to_owned());
        }
        // A feature that is named is as it is named, whatever is said of all.
        let alpha = all.get("AllAlpha").copied().unwrap_or(false);
        let on = all.get("EvictionsInBackground").copied().unwrap_or(alpha);
        Ok(Self { evictions_in_background: on })
    }
}

fn gates(text: &str) -> Result<Gates, String> {
    let mut all = BTreeMap::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("missing bool value for `{word}`, such as {word}=true"));
        };
        let on = switch(value.trim()).map_err(|error| format!("`{}`: {error}", name.trim()))?;
        all.insert(name.trim().to_owned(), on);
    }
    Ok(Gates(all))
}

/// What Go takes for a bool.
fn switch(text: &str) -> Result<bool, &'static str> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false"),
    }
}

/// A span of time as Go writes it, not below zero.
fn span(text: &str) -> Result<Duration, String> {
    let span: GoDuration = text.parse().map_err(|error: DurationError| error.to_string())?;
    let nanos = u64::try_from(span.as_nanos());
    let nanos = nanos.map_err(|_| "expected a span of time that is not below zero".to_owned())?;
    Ok(Duration::from_nanos(nanos))
}

/// The arguments with `-` for each `_` in the names of flags, as upstream takes them.
pub(crate) fn dashed(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut flags = true;
    let dash = |argument: OsString| {
        flags &= argument != "--";
        let text = argument.to_str().filter(|text| flags && text.starts_with("--"));
        let Some(text) = text else { return argument };
        let (name, value) = text.split_at(text.find('=').unwrap_or(text.len()));
        format!("{}{value}", name.replace('_', "-")).into()
    };
    arguments.into_iter().map(dash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_add_up_and_a_name_wins_over_all() {
        let features = |flags: &[&str]| {
            let flags: Vec<Gates> = flags.iter().map(|flag| gates(flag).expect("read")).collect();
            Features::of(&flags).map(|features| features.evictions_in_background)
        };
        assert_eq!(features(&[]), Ok(false));
        assert_eq!(features(&["EvictionsInBackground=true"]), Ok(true));
        assert_eq!(features(&["AllAlpha=true,AllBeta=false"]), Ok(true));
        assert_eq!(features(&["AllAlpha=true", "EvictionsInBackground=false"]), Ok(false));
        assert_eq!(features(&["EvictionsInBackground=1", "EvictionsInBackground=0"]), Ok(false));
        assert_eq!(features(&["Foo=true"]), Err("Foo".to_owned()));
        assert!(gates("EvictionsInBackground=maybe").is_err());
        assert!(gates("EvictionsInBackground").is_err());
    }

    #[test]
    fn an_underscore_in_the_name_of_a_flag_is_a_dash() {
        let dashed = |text: &str| {
            let all = dashed(text.split(' ').map(OsString::from));
            all.into_iter()
                .map(|one| one.into_string().expect("text"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            dashed("d --policy_config_file=a_b --dry_run x_y -- --a_b"),
            "d --policy-config-file=a_b --dry-run x_y -- --a_b"
        );
    }

    #[test]
    fn spans_are_go_durations_from_zero_on() {
        assert_eq!(span("1m47s"), Ok(Duration::from_secs(107)));
        assert_eq!(span("0"), Ok(Duration::ZERO));
        assert!(span("-1s").is_err() && span("5").is_err());
    }
}
