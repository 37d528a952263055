//! `descheduler` without a command: the service, or one cycle where no interval is given.

mod log;
mod serving;
mod source;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use descheduler_controller::observe::{Audience, Ended, Listener, Verdict};
use descheduler_controller::{LeaseSettings, Options, Rate, Service, Stop};
use descheduler_engine::Pace;

use self::log::Log;
use self::serving::Prepared;
use self::source::PolicyFile;
use super::inputs::{self, Source};
use super::live::{self, Live};
use super::scheduler;
use crate::cli::InputArgs;
use crate::cli::service::{ElectionArgs, Features, LoggingArgs, ServiceArgs};
use crate::error::CliError;
use crate::logger::{Format, Logger};
use crate::printer::Printer;

/// Runs until it is told to stop, or for one cycle.
pub(crate) fn run(arguments: &ServiceArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let ServiceArgs { client, election, .. } = arguments;
    let logger = logger(&arguments.logging, printer);
    let features = Features::of(&arguments.feature_gates).map_err(|name| {
        CliError::user(anyhow!("unrecognized feature gate: {name}"))
            .help("known: EvictionsInBackground, AllAlpha, AllBeta")
    })?;
    let inputs = inputs_of(arguments)?;
    let lease = lease(election, arguments.descheduling_interval.is_zero())?;
    let rate = rate(client.client_connection_qps, client.client_connection_burst)?;
    remark(arguments, printer);

    // Served until the very end, and from the start: a probe need not wait for the cluster.
    let prepared = Prepared::new(&arguments.serving, lease.is_some(), printer)?;
    let mut listeners: Vec<Arc<dyn Listener>> = vec![Arc::new(Log::new(logger))];
    listeners.extend(prepared.iter().flat_map(Prepared::listeners));
    let audience = Audience::new(listeners);
    let _served = prepared.map(|prepared| prepared.start(&audience)).transpose()?;
    let live = Live::connect_at(inputs.kubeconfig.as_deref(), rate)?;
    let source = Source::Live(live);
    let scheduler = scheduler::read(&inputs.scheduler, &source, printer)?;
    let policy = inputs::policy_for(&inputs, &scheduler, "nothing is done", printer)?;
    let Source::Live(Live { runtime, api }) = source else {
        return Err(CliError::bug(anyhow!("the cluster is not live")));
    };

    let mut file = PolicyFile::new(inputs, scheduler);
    let identity = lease.as_ref().map_or(0, |lease| seed(&lease.identity));
    let service = Service {
        api,
        options: Options { metrics: true },
        audience,
        interval: arguments.descheduling_interval,
        dry_run: arguments.dry_run,
        background: features.evictions_in_background,
        pace: Pace::default(),
        lease,
        seed: identity,
    };
    let ended = runtime.block_on(async {
        let stop = Stop::on_signals().context("cannot listen to signals");
        let stop = stop.map_err(CliError::environment)?;
        let run = service.run(Arc::new(policy), &mut file, stop);
        run.await.map_err(live::failed)
    })?;
    // One cycle answers for itself; a loop that was told to stop has done what it was told.
    match ended.filter(|_| arguments.descheduling_interval.is_zero()) {
        Some(ended) => verdict(&ended),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The policy and what else the commands know, too.
fn inputs_of(arguments: &ServiceArgs) -> Result<InputArgs, CliError> {
    // As in upstream, an empty name is none.
    let given = |path: &Option<std::path::PathBuf>| {
        path.clone().filter(|path| !path.as_os_str().is_empty())
    };
    let policy = given(&arguments.policy_config_file).ok_or_else(|| {
        CliError::user(anyhow!("deschedulerPolicy is nil: no policy is given"))
            .help("name its file with `--policy-config-file`")
    })?;
    let kubeconfig = given(&arguments.client.client_connection_kubeconfig);
    if kubeconfig.is_none() && !Live::is_in_cluster() {
        let error = anyhow!("this is no pod of a cluster, and no kubeconfig is given");
        return Err(CliError::user(error)
            .help("name one with `--kubeconfig`; `descheduler plan` makes plans from files, too"));
    }
    Ok(InputArgs {
        policy,
        cluster: Vec::new(),
        kubeconfig,
        now: None,
        placement: arguments.placement,
        scheduler: arguments.scheduler.clone(),
    })
}

/// Client-go's rules (docs/spec/runtime.md section 1.2).
fn rate(per_second: f32, burst: i32) -> Result<Option<Rate>, CliError> {
    let default = Rate::DEFAULT;
    if per_second < 0.0 {
        return Ok(None);
    }
    if per_second > 0.0 && burst <= 0 {
        return Err(CliError::user(anyhow!(
            "burst is required to be greater than 0 when RateLimiter is not set and QPS is set to \
             greater than 0"
        ))
        .help("set `--client-connection-burst`"));
    }
    let per_second = if per_second > 0.0 { per_second } else { default.per_second };
    let burst = u32::try_from(burst).ok().filter(|&burst| burst > 0).unwrap_or(default.burst);
    Ok(Some(Rate { per_second, burst }))
}

/// How we are elected, in upstream's words where that cannot be (docs/spec/runtime.md section 11).
fn lease(arguments: &ElectionArgs, one_cycle: bool) -> Result<Option<LeaseSettings>, CliError> {
    if !arguments.leader_elect {
        return Ok(None);
    }
    if one_cycle {
        let error = anyhow!("leaderElection must be used with deschedulingInterval");
        return Err(CliError::user(error).help("set `--descheduling-interval`"));
    }
    match &*arguments.leader_elect_resource_lock {
        "leases" => {}
        removed @ ("configmaps" | "configmapsleases" | "endpoints" | "endpointsleases") => {
            let error = anyhow!(
                "unable to create leader election lock: {removed} lock is removed, migrate to leases"
            );
            return Err(CliError::user(error));
        }
        other => {
            let error = anyhow!("unable to create leader election lock: Invalid lock-type {other}");
            return Err(CliError::user(error).help("only `leases` is there"));
        }
    }
    let host = std::env::var("HOSTNAME").unwrap_or_default();
    let lease = LeaseSettings {
        namespace: arguments.leader_elect_resource_namespace.clone(),
        name: arguments.leader_elect_resource_name.clone(),
        identity: LeaseSettings::new_identity(&host),
        duration: arguments.leader_elect_lease_duration,
        renew_deadline: arguments.leader_elect_renew_deadline,
        retry_period: arguments.leader_elect_retry_period,
    };
    lease.check().map_err(CliError::user)?;
    Ok(Some(lease))
}

/// How the log is written. Upstream drops all that it is told of the log when one of these flags
/// cannot be used, `-v` included, and says nothing (docs/spec/runtime.md section 1.6).
fn logger(arguments: &LoggingArgs, printer: &mut Printer) -> Logger {
    let (format, is_known) = match &*arguments.logging_format {
        "json" => (Format::Json, true),
        "text" | "" => (Format::Text, true),
        _ => (Format::Text, false),
    };
    let logger = Logger { format, verbosity: arguments.verbosity };
    if format == Format::Json {
        printer.log_to(logger);
    }
    if !is_known {
        let format = &arguments.logging_format;
        printer.note(format_args!("`--logging-format {format}`: known are text and json"));
    }
    logger
}

/// Says of flags that they do nothing.
fn remark(arguments: &ServiceArgs, printer: &mut Printer) {
    let ServiceArgs { logging, tracing, .. } = arguments;
    let is_size = |text: &str| !matches!(text, "" | "0");
    for (is_given, flag, why) in [
        (
            !tracing.otel_collector_endpoint.is_empty(),
            "--otel-collector-endpoint",
            "there are no traces",
        ),
        (!logging.vmodule.is_empty(), "--vmodule", "`-v` is for all of the program"),
        (logging.log_text_split_stream, "--log-text-split-stream", ONE_STREAM),
        (is_size(&logging.log_text_info_buffer_size), "--log-text-info-buffer-size", ONE_STREAM),
        (logging.log_json_split_stream, "--log-json-split-stream", ONE_STREAM),
        (is_size(&logging.log_json_info_buffer_size), "--log-json-info-buffer-size", ONE_STREAM),
    ] {
        if is_given {
            printer.note(format_args!("`{flag}`: {why}; the flag does nothing"));
        }
    }
}

/// As upstream, where these cannot be switched on.
const ONE_STREAM: &str = "everything is written to standard error at once";

/// A number that differs from identity to identity.
fn seed(identity: &str) -> u64 {
    identity.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()))
}

/// What one cycle makes of the process.
fn verdict(ended: &Ended) -> Result<ExitCode, CliError> {
    let failed = "every eviction failed; the lines above say how";
    match ended.verdict() {
        Verdict::Fine => Ok(ExitCode::SUCCESS),
        Verdict::Denied => Err(CliError::user(anyhow!(failed))
            .help("grant the verb `create` on `pods/eviction` in a ClusterRole, if it is that")),
        Verdict::Failed => Err(CliError::environment(anyhow!(failed))),
        Verdict::Skipped => {
            Err(CliError::environment(anyhow!("nothing could be planned; the lines above say why")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_client_go() {
        let of = |per_second, burst| rate(per_second, burst).ok();
        assert_eq!(of(0.0, 0), Some(Some(Rate::DEFAULT)));
        assert_eq!(of(-1.0, 0), Some(None));
        assert_eq!(of(50.0, 100), Some(Some(Rate { per_second: 50.0, burst: 100 })));
        assert_eq!(of(0.0, 20), Some(Some(Rate { burst: 20, ..Rate::DEFAULT })));
        assert_eq!(of(50.0, 0), None);
    }
}
