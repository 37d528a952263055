//! What TLS is to be like, in the words of Go (docs/spec/runtime.md section 1.4).

use std::sync::Arc;

use rustls::crypto::aws_lc_rs::{ALL_CIPHER_SUITES, default_provider, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedCipherSuite, SupportedProtocolVersion};

use super::certificates::{Certificates, PairFiles, SniPair};

/// How connections are encrypted.
#[derive(Clone, Debug, Default)]
pub struct TlsSettings {
    /// The certificate; without one, one is made that lives as long as the process.
    pub pair: Option<PairFiles>,
    /// Certificates for those who ask for certain names.
    pub sni: Vec<SniPair>,
    /// The cipher suites of TLS 1.2 by their names in Go; none for those that are good.
    pub cipher_suites: Vec<String>,
    /// Key exchanges, by their numbers in Go, the best one first; none for all.
    pub curve_preferences: Vec<i32>,
    /// The oldest version by its name in Go; none for TLS 1.2.
    pub min_version: String,
}

/// What cannot be asked of TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Not a version.
    #[error("unknown tls version \"{0}\"")]
    Version(String),
    /// Not a cipher suite, in Go's eyes or in ours.
    #[error("cipher suite {0} not supported or doesn't exist")]
    CipherSuite(String),
    /// Not a key exchange.
    #[error("key exchange {0} not supported or doesn't exist")]
    Curve(i32),
    /// A certificate without a key or a key without a certificate.
    #[error("a certificate and its key come together: `{0}` is missing")]
    Half(&'static str),
    /// Not `cert,key[:domain,...]`.
    #[error("`--tls-sni-cert-key {0}`: expected CERT,KEY[:DOMAIN,...]")]
    Sni(String),
    /// What was asked for does not fit together.
    #[error("nothing can be encrypted so")]
    Unusable(#[source] rustls::Error),
}

/// Go's names of what we do not offer, since it is not safe: CBC, RC4, 3DES, and key exchange by RSA.
const UNSAFE: [&str; 16] = [
    "TLS_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
];

type Chosen = (Arc<CryptoProvider>, Vec<&'static SupportedProtocolVersion>, Vec<String>);

impl TlsSettings {
    /// What is offered, and what is worth a remark.
    pub(super) fn chosen(&self) -> Result<Chosen, TlsError> {
        let mut remarks = Vec::new();
        let mut versions = self.versions(&mut remarks)?;
        let cipher_suites = self.suites(&mut remarks)?;
        if !cipher_suites.iter().any(|suite| suite.tls13().is_none()) {
            versions.retain(|&version| version != &TLS12);
        }
        let kx_groups = self.groups(&mut remarks)?;
        let provider = CryptoProvider { cipher_suites, kx_groups, ..default_provider() };
        Ok((Arc::new(provider), versions, remarks))
    }

    fn versions(
        &self,
        remarks: &mut Vec<String>,
    ) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
        match &*self.min_version {
            "" | "VersionTLS12" => Ok(vec![&TLS13, &TLS12]),
            "VersionTLS13" => Ok(vec![&TLS13]),
            old @ ("VersionTLS10" | "VersionTLS11") => {
                remarks
                    .push(format!("`--tls-min-version {old}`: nothing before TLS 1.2 is spoken"));
                Ok(vec![&TLS13, &TLS12])
            }
            other => Err(TlsError::Version(other.to_owned())),
        }
    }

    /// As in Go, those of TLS 1.3 are always offered.
    fn suites(&self, remarks: &mut Vec<String>) -> Result<Vec<SupportedCipherSuite>, TlsError> {
        if self.cipher_suites.is_empty() {
            return Ok(default_provider().cipher_suites);
        }
        let all = ALL_CIPHER_SUITES.iter().copied();
        let mut chosen: Vec<_> = all.filter(|suite| suite.tls13().is_some()).collect();
        for name in &self.cipher_suites {
            // The name without a hash is an older one of the same.
            let long = name.strip_suffix("CHACHA20_POLY1305");
            let long = long.map(|_| format!("{name}_SHA256"));
            let asked = long.as_ref().unwrap_or(name);
            match ALL_CIPHER_SUITES.iter().find(|suite| go_name(suite) == *asked) {
                Some(suite) if chosen.contains(suite) => {}
                Some(suite) => chosen.push(*suite),
                None if UNSAFE.contains(&&**name) => {
                    remarks.push(format!("`--tls-cipher-suites {name}`: not safe, so not offered"));
                }
                None => return Err(TlsError::CipherSuite(name.clone())),
            }
        }
        Ok(chosen)
    }

    fn groups(
        &self,
        remarks: &mut Vec<String>,
    ) -> Result<Vec<&'static dyn SupportedKxGroup>, TlsError> {
        let mut groups: Vec<&'static dyn SupportedKxGroup> = Vec::new();
        for number in &self.curve_preferences {
            // <https://pkg.go.dev/crypto/tls#CurveID>
            match number {
                23 => groups.push(kx_group::SECP256R1),
                24 => groups.push(kx_group::SECP384R1),
                29 => groups.push(kx_group::X25519),
                4587 => groups.push(kx_group::SECP256R1MLKEM768),
                4588 => groups.push(kx_group::X25519MLKEM768),
                25 | 4589 => remarks.push(format!("`--tls-curve-preferences {number}`: not there")),
                other => return Err(TlsError::Curve(*other)),
            }
        }
        Ok(if groups.is_empty() { default_provider().kx_groups } else { groups })
    }
}

/// Go and the registry of TLS write `TLS_AES_128_GCM_SHA256`, rustls `TLS13_AES_128_GCM_SHA256`.
fn go_name(suite: &SupportedCipherSuite) -> String {
    let name = suite.suite().as_str().unwrap_or_default();
    name.replacen("TLS13_", "TLS_", 1)
}

/// Nobody is asked for a certificate.
pub(super) fn config(
    provider: Arc<CryptoProvider>,
    versions: Vec<&'static SupportedProtocolVersion>,
    certificates: Arc<Certificates>,
    http2: bool,
) -> Result<ServerConfig, TlsError> {
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&versions);
    let builder = builder.map_err(TlsError::Unusable)?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(certificates);
    let protocols: &[&[u8]] = if http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites(names: &str) -> Result<(Vec<String>, usize, usize), String> {
        let cipher_suites = names.split_whitespace().map(str::to_owned).collect();
        let settings = TlsSettings { cipher_suites, ..TlsSettings::default() };
        let (provider, versions, remarks) = settings.chosen().map_err(|error| error.to_string())?;
        let old = provider.cipher_suites.iter().filter(|suite| suite.tls13().is_none());
        Ok((old.map(go_name).collect(), versions.len(), remarks.len()))
    }

    #[test]
    fn suites_are_those_of_go() {
        let one = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".to_owned();
        assert_eq!(suites(&one), Ok((vec![one.clone()], 2, 0)));
        assert_eq!(suites("TLS_AES_128_GCM_SHA256"), Ok((vec![], 1, 0)), "TLS 1.3 is left");
        let short = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305";
        assert_eq!(suites(short), Ok((vec![format!("{short}_SHA256")], 2, 0)));
        assert_eq!(suites(&format!("{one} {}", UNSAFE[2])), Ok((vec![one], 2, 1)));
        assert_eq!(suites("").map(|(old, ..)| old.len()), Ok(6));
        let wrong = "cipher suite TLS_NONE not supported or doesn't exist";
        assert_eq!(suites("TLS_NONE"), Err(wrong.to_owned()));
    }

    #[test]
    fn versions_are_those_of_go() {
        let count = |version: &str| {
            let settings =
                TlsSettings { min_version: version.to_owned(), ..TlsSettings::default() };
            let chosen = settings.chosen().map_err(|error| error.to_string());
            chosen.map(|(_, versions, remarks)| (versions.len(), remarks.len()))
        };
        assert_eq!(count(""), Ok((2, 0)));
        assert_eq!(count("VersionTLS10"), Ok((2, 1)));
        assert_eq!(count("VersionTLS12"), Ok((2, 0)));
        assert_eq!(count("VersionTLS13"), Ok((1, 0)));
        assert_eq!(count("foo"), Err("unknown tls version \"foo\"".to_owned()));
    }

    #[test]
    fn curves_are_those_of_go() {
        let count = |numbers: &[i32]| {
            let settings =
                TlsSettings { curve_preferences: numbers.to_vec(), ..TlsSettings::default() };
            let chosen = settings.chosen().map_err(|error| error.to_string());
            chosen.map(|(provider, _, remarks)| (provider.kx_groups.len(), remarks.len()))
        };
        assert_eq!(count(&[29, 4588, 25]), Ok((2, 1)));
        assert!(count(&[]).is_ok_and(|(groups, _)| groups >= 4));
        assert!(count(&[7]).is_err());
    }
}
