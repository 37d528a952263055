//! The HTTPS endpoint, as its flags have it.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use descheduler_controller::admin::{
    Admin, AdminError, Board, Endpoint, Page, PairFiles, Served, Site, SniPair, TlsError,
    TlsSettings,
};
use descheduler_controller::metrics::{Build, Metrics};
use descheduler_controller::observe::{Audience, Listener, Planned};
use http::HeaderValue;

use crate::cli::service::ServingArgs;
use crate::error::CliError;
use crate::output::{self, Outcome};
use crate::printer::Printer;

/// An endpoint that has its port, and what it will tell of.
pub(super) struct Prepared {
    admin: Admin,
    board: Arc<Board>,
    metrics: Option<Arc<Metrics>>,
}

impl Prepared {
    /// Takes the port and reads the certificates; `None` where nothing is to be served.
    pub(super) fn new(
        arguments: &ServingArgs,
        elects: bool,
        printer: &mut Printer,
    ) -> Result<Option<Self>, CliError> {
        let Some(admin) = bind(arguments, printer)? else { return Ok(None) };
        let metrics = || {
            let version = env!("CARGO_PKG_VERSION").to_owned();
            let build = Build { version, ..Build::default() };
            Arc::new(Metrics::new(build, elects).with_process())
        };
        let metrics = (!arguments.disable_metrics).then(metrics);
        Ok(Some(Self { admin, board: Arc::new(Board::new(elects)), metrics }))
    }

    /// Who has to hear what the service tells.
    pub(super) fn listeners(&self) -> impl Iterator<Item = Arc<dyn Listener>> + use<> {
        let board: Arc<dyn Listener> = self.board.clone();
        let metrics = self.metrics.clone().map(|metrics| metrics as Arc<dyn Listener>);
        [board].into_iter().chain(metrics)
    }

    /// Begins to answer.
    pub(super) fn start(self, audience: &Audience) -> Result<Served, CliError> {
        let Self { admin, board, metrics } = self;
        let metrics = metrics.map(|metrics| Arc::new(move |(): &()| metrics.page()) as Page<()>);
        let site = Site::new(board, Arc::new(plan), metrics);
        admin.start(site, audience.clone()).map_err(CliError::environment)
    }
}

fn bind(arguments: &ServingArgs, printer: &mut Printer) -> Result<Option<Admin>, CliError> {
    if arguments.secure_port <= 0 {
        return Ok(None);
    }
    let port = u16::try_from(arguments.secure_port).map_err(|_| {
        let ServingArgs { bind_address, secure_port, .. } = arguments;
        CliError::user(anyhow!(
            "failed to create listener: failed to listen on {bind_address}:{secure_port}: listen \
             tcp: address {secure_port}: invalid port"
        ))
    })?;
    let endpoint = Endpoint {
        address: arguments.bind_address,
        port,
        shares_port: arguments.permit_port_sharing,
        tls: tls(arguments).map_err(CliError::user)?,
        http2_streams_max: arguments
            .enable_http2
            .then_some(arguments.http2_max_streams_per_connection),
        look_every: Endpoint::LOOK_EVERY,
    };
    let admin = Admin::bind(endpoint).map_err(|error| match error {
        AdminError::Listen { .. } => CliError::user(error)
            .help("choose another port with `--secure-port`, or 0 to serve nothing"),
        AdminError::Certificate(_) | AdminError::Tls(_) => CliError::user(error),
        AdminError::Start(_) => CliError::environment(error),
    })?;
    for remark in admin.remarks() {
        printer.note(remark);
    }
    Ok(Some(admin))
}

fn tls(arguments: &ServingArgs) -> Result<TlsSettings, TlsError> {
    // As in upstream, an empty name is none.
    let given = |path: &Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
    let words = |words: &[String]| -> Vec<String> {
        words.iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
    };
    let ServingArgs { tls_cert_file, tls_private_key_file, tls_sni_cert_key, .. } = arguments;
    let sni = tls_sni_cert_key.iter().map(|text| SniPair::parse(text)).collect::<Result<_, _>>();
    Ok(TlsSettings {
        pair: PairFiles::new(given(tls_cert_file), given(tls_private_key_file))?,
        sni: sni?,
        cipher_suites: words(&arguments.tls_cipher_suites),
        curve_preferences: arguments.tls_curve_preferences.clone(),
        min_version: arguments.tls_min_version.clone(),
    })
}

/// The plan as `descheduler plan -o json` prints it.
fn plan(planned: &Planned) -> (HeaderValue, String) {
    let mut text = Vec::new();
    let written = output::json::write(&Outcome::of_live(planned), &mut text as &mut dyn Write);
    let text = written.ok().and_then(|()| String::from_utf8(text).ok());
    (HeaderValue::from_static("application/json"), text.unwrap_or_default())
}
