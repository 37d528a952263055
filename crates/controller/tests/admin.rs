//! The HTTPS endpoint, asked over real sockets by a client that believes any certificate and says
//! which one it was shown.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use std::{env, fs, process};

use descheduler_controller::admin::{
    Admin, AdminError, Board, Endpoint, PairFiles, Served, Site, SniPair, TlsSettings,
};
use descheduler_controller::observe::{
    Audience, Begun, Listener, News, Planned, ServingNews, Skipped,
};
use http::HeaderValue;
use jiff::Timestamp;
use rcgen::{CertificateParams, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned,
    SupportedProtocolVersion,
};

/// Longer than anything takes, even where the machine is busy.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn health_and_what_is_not_there() {
    let (board, served) = serve(endpoint());
    let get = |path: &str| Client::default().get(&served, path);
    assert_eq!(get("/healthz"), (200, "ok".to_owned()));
    assert_eq!(get("/livez"), (200, "ok".to_owned()));
    let verbose = "[+]Descheduler ok\nhealthz check passed\n";
    assert_eq!(get("/healthz?verbose"), (200, verbose.to_owned()));
    assert_eq!(get("/healthz?exclude=Descheduler"), (200, "ok".to_owned()));
    assert_eq!(get("/healthz/Descheduler"), (200, "ok".to_owned()));
    for path in ["/", "/healthz/", "/healthz/ping", "/debug/pprof/", "/../etc/passwd"] {
        assert_eq!(get(path).0, 404, "{path}");
    }
    assert_eq!(get("/metrics"), (200, "metrics of ()".to_owned()));

    assert_eq!(
        get("/readyz"),
        (
            500,
            "[-]synced failed: the cluster has not been read yet\n[+]lease ok\n[+]cycle ok\nreadyz \
             check failed\n"
                .to_owned()
        )
    );
    board.hear(&News::Synced);
    assert_eq!(get("/readyz"), (200, "ok".to_owned()));
}

#[test]
fn the_plan_is_there_while_there_is_one() {
    let (board, served) = serve(endpoint());
    let get = || Client::default().get(&served, "/plan");
    assert_eq!(get(), (503, "there was no cycle yet\n".to_owned()));
    board.hear(&News::Begun(Begun { cycle: 1, at: Timestamp::UNIX_EPOCH }));
    assert_eq!(get(), (503, "the plan is being made\n".to_owned()));
    let why = "no pods".to_owned();
    board.hear(&News::Skipped(Skipped { cycle: 1, code: "NotReady", why }));
    assert_eq!(get(), (503, "nothing can be planned in cycle 1: no pods\n".to_owned()));
}

#[test]
fn only_questions_are_answered() {
    let (_, served) = serve(endpoint());
    let client = Client::default();
    for method in ["POST", "DELETE", "PUT", "OPTIONS"] {
        let answer = client.say(&served, &format!("{method} /metrics HTTP/1.1\r\n")).expect("said");
        assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
        assert!(answer.contains("allow: GET, HEAD\r\n"), "{answer}");
    }
    let head = client.say(&served, "HEAD /healthz HTTP/1.1\r\n").expect("said");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.contains("content-length: 2\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(head.contains("content-type: text/plain; charset=utf-8\r\n"), "{head}");
    let long = format!("GET /healthz HTTP/1.1\r\nX-Long: {}\r\n", "x".repeat(300_000));
    let answer = client.say(&served, &long).unwrap_or_default();
    assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
    assert_eq!(client.get(&served, "/healthz").0, 200);
}

#[test]
fn a_probe_is_answered_whoever_hangs_on_the_line() {
    let (_, served) = serve(endpoint());
    let silent: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(served.address()).expect("connected")).collect();
    assert_eq!(Client::default().get(&served, "/healthz").0, 200);
    drop(silent);
}

#[test]
fn it_stops_although_somebody_is_connected_and_leaves_the_port() {
    let (_, served) = serve(endpoint());
    let address = served.address();
    let mut open = Client::default().connect(address).expect("connected");
    open.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").expect("sent");
    let mut first = [0; 12];
    open.read_exact(&mut first).expect("answered");
    assert_eq!(&first, b"HTTP/1.1 200");
    drop(served);
    assert!(TcpStream::connect(address).is_err(), "nobody listens");
    let (_, again) = serve(Endpoint { port: address.port(), ..endpoint() });
    assert_eq!(Client::default().get(&again, "/healthz").0, 200);
}

#[test]
fn a_port_that_is_in_use() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other.local_addr().expect("an address");
    let error = Admin::bind(Endpoint { port: address.port(), ..endpoint() }).err();
    let error = error.expect("it is in use");
    let AdminError::Listen { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::AddrInUse);
    let expected = format!("failed to create listener: failed to listen on {address}");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_certificate_is_made_for_those_who_have_none() {
    let (_, served) = serve(endpoint());
    let (_, other) = serve(endpoint());
    let client = Client::default();
    let shown = client.shown(&served);
    assert_eq!(client.shown(&served), shown, "the same for everybody");
    assert_ne!(client.shown(&other), shown, "and another one in each process");
}

#[test]
fn a_certificate_that_is_replaced_is_used_and_one_that_is_broken_is_not() {
    let folder = folder("reload");
    let (first, second) = (make("one.example"), make("two.example"));
    let files = first.write(&folder, "tls");
    let (ear, news) = mpsc::channel();
    let settings = TlsSettings { pair: Some(files.clone()), ..TlsSettings::default() };
    let admin = Admin::bind(with(settings)).expect("bound");
    let audience = Audience::new(vec![Arc::new(Ear(ear))]);
    let served = admin.start(site(Arc::default()), audience).expect("started");
    let hear = || news.recv_timeout(PATIENCE).expect("told");
    assert_eq!(hear(), ServingNews::Listening(served.address()));
    let client = Client::default();
    assert_eq!(client.shown(&served), first.der);

    // The certificate of one and the key of the other.
    fs::write(&files.cert, &second.cert).expect("written");
    let told = hear();
    assert!(
        matches!(&told, ServingNews::CertificateUnusable(path, why)
        if *path == files.cert.display().to_string() && why.contains("cannot be used")),
        "{told:?}"
    );
    assert_eq!(client.shown(&served), first.der);

    fs::write(&files.key, &second.key).expect("written");
    assert_eq!(hear(), ServingNews::CertificateReplaced(files.cert.display().to_string()));
    assert_eq!(client.shown(&served), second.der);

    fs::remove_file(&files.cert).expect("removed");
    assert!(matches!(hear(), ServingNews::CertificateUnusable(..)));
    assert_eq!(client.shown(&served), second.der);
}

#[test]
fn names_have_certificates_of_their_own() {
    let folder = folder("names");
    let (all, one, two) = (make("all.example"), make("one.example"), make("two.example"));
    let sni = |made: &Made, name: &str, names: &[&str]| SniPair {
        files: made.write(&folder, name),
        names: names.iter().map(|&name| name.to_owned()).collect(),
    };
    let (_, served) = serve(with(TlsSettings {
        pair: Some(all.write(&folder, "all")),
        sni: vec![sni(&one, "one", &[]), sni(&two, "two", &["*.two.example"])],
        ..TlsSettings::default()
    }));
    for (name, expected) in [
        ("one.example", &one),
        ("ONE.example", &one),
        ("a.two.example", &two),
        ("two.example", &all),
        ("other.example", &all),
    ] {
        let client = Client { name, ..Client::default() };
        assert_eq!(client.shown(&served), expected.der, "{name}");
    }
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = folder("wrong");
    let (one, two) = (make("one.example"), make("two.example"));
    let (of_one, of_two) = (one.write(&folder, "one"), two.write(&folder, "two"));
    let error = |cert: &Path, key: &Path| {
        let pair = Some(PairFiles { cert: cert.to_owned(), key: key.to_owned() });
        let error = Admin::bind(with(TlsSettings { pair, ..TlsSettings::default() })).err();
        error.expect("it cannot be used").to_string()
    };
    assert_eq!(error(Path::new("/nope"), &of_one.key), "open /nope");
    let (cert, key) = (of_one.cert.display(), of_two.key.display());
    let expected = format!("the certificate `{cert}` and the key `{key}` cannot be used");
    assert_eq!(error(&of_one.cert, &of_two.key), expected);
    let expected = format!("there is no certificate in `{}`", of_one.key.display());
    assert_eq!(error(&of_one.key, &of_one.key), expected);
    let expected = format!("there is no key in `{}`", of_one.cert.display());
    assert_eq!(error(&of_one.cert, &of_one.cert), expected);
    assert!(PairFiles::new(Some("a".into()), None).is_err());
}

#[test]
fn versions_and_protocols_are_what_was_asked_for() {
    use rustls::version::{TLS12, TLS13};
    let newest = TlsSettings { min_version: "VersionTLS13".to_owned(), ..TlsSettings::default() };
    let (_, default) = serve(endpoint());
    let (_, newest) = serve(with(newest));
    let (_, http2) = serve(Endpoint { http2_streams_max: Some(7), ..endpoint() });
    let can = |served: &Served, version, alpn: &[&'static str]| {
        let client = Client { versions: vec![version], alpn: alpn.to_vec(), ..Client::default() };
        client.shakes_hands(served)
    };
    assert!(can(&default, &TLS12, &[]) && can(&default, &TLS13, &[]));
    assert!(!can(&newest, &TLS12, &[]) && can(&newest, &TLS13, &[]));
    assert!(!can(&default, &TLS13, &["h2"]), "as upstream");
    assert!(can(&default, &TLS13, &["h2", "http/1.1"]));

    assert_eq!(Client::default().get(&http2, "/healthz").0, 200);
    let client = Client { alpn: vec!["h2", "http/1.1"], ..Client::default() };
    let mut stream = client.connect(http2.address()).expect("connected");
    // The preface and settings without an entry.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").expect("sent");
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).expect("answered");
    assert_eq!(frame[3], 4, "settings come first");
    let mut settings = vec![0; usize::from(frame[2])];
    stream.read_exact(&mut settings).expect("answered");
    let streams = settings.chunks(6).find(|setting| setting[1] == 3).expect("a limit of streams");
    assert_eq!(streams[2..], [0, 0, 0, 7]);
}

fn endpoint() -> Endpoint {
    with(TlsSettings::default())
}

fn with(tls: TlsSettings) -> Endpoint {
    Endpoint {
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port: 0,
        shares_port: false,
        tls,
        http2_streams_max: None,
        look_every: Duration::from_millis(20),
    }
}

fn site(board: Arc<Board>) -> Site {
    let kind = HeaderValue::from_static("text/plain");
    let plan = {
        let kind = kind.clone();
        move |planned: &Planned| (kind.clone(), planned.cycle.to_string())
    };
    let metrics = move |unit: &()| (kind.clone(), format!("metrics of {unit:?}"));
    Site::new(board, Arc::new(plan), Some(Arc::new(metrics)))
}

fn serve(endpoint: Endpoint) -> (Arc<Board>, Served) {
    let board = Arc::new(Board::new(false));
    let admin = Admin::bind(endpoint).expect("bound");
    let served = admin.start(site(board.clone()), Audience::default());
    (board, served.expect("started"))
}

/// Passes on what is told of the endpoint.
struct Ear(mpsc::Sender<ServingNews>);

impl Listener for Ear {
    fn hear(&self, news: &News) {
        if let News::Serving(news) = news {
            // The test may be over.
            let _ = self.0.send(news.clone());
        }
    }
}

/// A certificate and its key.
struct Made {
    cert: String,
    key: String,
    der: CertificateDer<'static>,
}

fn make(name: &str) -> Made {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new([name.to_owned()]).expect("a name");
    let cert = params.self_signed(&key).expect("signed");
    Made {
        cert: pem("CERTIFICATE", cert.der()),
        key: pem("PRIVATE KEY", &key.serialize_der()),
        der: cert.der().clone(),
    }
}

impl Made {
    fn write(&self, folder: &Path, name: &str) -> PairFiles {
        let file = |end: &str, text: &str| {
            let path = folder.join(format!("{name}.{end}"));
            fs::write(&path, text).expect("written");
            path
        };
        PairFiles { cert: file("crt", &self.cert), key: file("key", &self.key) }
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let quads = der.chunks(3).map(|three| {
        let bits = three.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte));
        let bits = bits << (8 * (3 - three.len()));
        let digit = |at: usize| match at <= three.len() {
            true => char::from(DIGITS[(bits >> (18 - 6 * at)) as usize & 63]),
            false => '=',
        };
        (0..4).map(digit).collect::<String>()
    });
    let quads: Vec<String> = quads.collect();
    let lines: Vec<String> = quads.chunks(16).map(|line| line.concat()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("descheduler-admin-{}-{name}", process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Asks.
struct Client {
    name: &'static str,
    versions: Vec<&'static SupportedProtocolVersion>,
    alpn: Vec<&'static str>,
}

impl Default for Client {
    fn default() -> Self {
        let versions = rustls::ALL_VERSIONS.to_vec();
        Self { name: "localhost", versions, alpn: vec!["http/1.1"] }
    }
}

type Stream = StreamOwned<ClientConnection, TcpStream>;

impl Client {
    fn connect(&self, address: SocketAddr) -> std::io::Result<Stream> {
        self.connect_seeing(address, Arc::default())
    }

    fn connect_seeing(&self, address: SocketAddr, seen: Arc<Seen>) -> std::io::Result<Stream> {
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&self.versions)
            .expect("versions")
            .dangerous()
            .with_custom_certificate_verifier(seen);
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = self.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let name = ServerName::try_from(self.name).expect("a name");
        let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
        let tcp = TcpStream::connect(address)?;
        tcp.set_read_timeout(Some(PATIENCE))?;
        let mut stream = StreamOwned::new(connection, tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(stream)
    }

    /// Whether they come to terms. A server of TLS 1.3 may say no after the client has said yes.
    fn shakes_hands(&self, served: &Served) -> bool {
        let mut byte = [0];
        self.connect(served.address()).is_ok_and(|mut stream| {
            stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").is_ok()
                && stream.read_exact(&mut byte).is_ok()
        })
    }

    /// The certificate that it is shown.
    fn shown(&self, served: &Served) -> CertificateDer<'static> {
        let seen = Arc::<Seen>::default();
        self.connect_seeing(served.address(), seen.clone()).expect("connected");
        let shown = seen.0.lock().expect("whole").take();
        shown.expect("a certificate")
    }

    /// Says a request line and maybe some headers; the whole answer.
    fn say(&self, served: &Served, head: &str) -> std::io::Result<String> {
        let mut stream = self.connect(served.address())?;
        write!(stream, "{head}Host: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// The status and the body.
    fn get(&self, served: &Served, path: &str) -> (u16, String) {
        let answer = self.say(served, &format!("GET {path} HTTP/1.1\r\n")).expect("answered");
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
        (status.expect("a status"), body.to_owned())
    }
}

/// Believes any certificate, and keeps it.
#[derive(Debug, Default)]
struct Seen(Mutex<Option<CertificateDer<'static>>>);

impl ServerCertVerifier for Seen {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        *self.0.lock().expect("whole") = Some(end_entity.clone().into_owned());
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let all = default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, &all)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let all = default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, &all)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}
