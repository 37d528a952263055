//! Certificates: one from files for everybody, further ones for those who ask for certain names, or
//! one that is made at the start. What lies in files is looked at again and again.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rcgen::{CertificateParams, DnType, KeyPair, SanType};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::tls::{TlsError, TlsSettings};
use crate::api::chain;
use crate::clock;
use crate::observe::ServingNews;

/// For how long one that is made holds, as upstream's.
const YEARS: i16 = 3;

/// A certificate and its key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairFiles {
    /// The certificate, and those between it and the root.
    pub cert: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// A certificate for certain names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SniPair {
    /// Where it is.
    pub files: PairFiles,
    /// The names, of which one may begin with `*.`; none for those that the certificate has.
    pub names: Vec<String>,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("open {path}")]
    Read {
        /// Which.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// It holds none.
    #[error("there is no {what} in `{path}`")]
    Empty {
        /// What is looked for.
        what: &'static str,
        /// In which file.
        path: String,
    },
    /// The two do not fit together, or one is of a kind that is not known.
    #[error("the certificate `{cert}` and the key `{key}` cannot be used")]
    Pair {
        /// The file of the certificate.
        cert: String,
        /// The file of the key.
        key: String,
        /// What is wrong.
        source: rustls::Error,
    },
    /// None could be made.
    #[error("no certificate could be made")]
    Make(#[source] rcgen::Error),
}

impl SniPair {
    /// Reads `cert,key[:domain,...]`.
    ///
    /// # Errors
    ///
    /// It is something else.
    pub fn parse(text: &str) -> Result<Self, TlsError> {
        let (files, names) = text.split_once(':').unwrap_or((text, ""));
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names = names.map(str::to_lowercase).collect();
        match files.split_once(',').map(|(cert, key)| (cert.trim(), key.trim())) {
            Some((cert, key)) if !cert.is_empty() && !key.is_empty() && !key.contains(',') => {
                Ok(Self { files: PairFiles { cert: cert.into(), key: key.into() }, names })
            }
            _ => Err(TlsError::Sni(text.to_owned())),
        }
    }
}

/// Those that are in use.
#[derive(Debug)]
pub(super) struct Certificates {
    /// For everybody.
    default: Used,
    /// The first whose name is asked for.
    named: Vec<(Vec<String>, Used)>,
}

/// One that is in use.
#[derive(Debug)]
struct Used {
    key: RwLock<Arc<CertifiedKey>>,
    /// Where it comes from, and a hash of what was read there last, used or not.
    source: Option<(PairFiles, Mutex<u64>)>,
}

impl Certificates {
    /// Reads all of them.
    pub(super) fn read(
        settings: &TlsSettings,
        provider: &CryptoProvider,
    ) -> Result<Self, CertificateError> {
        let default = match &settings.pair {
            Some(files) => Used::read(files, provider)?,
            None => Used { key: RwLock::new(Arc::new(make(provider)?)), source: None },
        };
        let named = settings.sni.iter().map(|SniPair { files, names }| {
            Used::read(files, provider).map(|used| (names.clone(), used))
        });
        Ok(Self { default, named: named.collect::<Result<_, _>>()? })
    }

    /// Takes over what was replaced, and says so.
    pub(super) fn look(&self, provider: &CryptoProvider) -> Vec<ServingNews> {
        let named = self.named.iter().map(|(_, used)| used);
        [&self.default].into_iter().chain(named).filter_map(|used| used.look(provider)).collect()
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let found = hello.server_name().and_then(|name| {
            let name = name.to_lowercase();
            self.named.iter().find(|(names, used)| is_for(&name, names, used)).map(|(_, used)| used)
        });
        Some(found.unwrap_or(&self.default).now())
    }
}

/// Whether a certificate is for a name, which is in lower case.
fn is_for(name: &str, names: &[String], used: &Used) -> bool {
    if names.is_empty() {
        let key = used.now();
        let parsed = key.end_entity_cert().and_then(ParsedCertificate::try_from);
        let name = ServerName::try_from(name);
        return matches!((parsed, name), (Ok(parsed), Ok(name))
            if verify_server_name(&parsed, &name).is_ok());
    }
    names.iter().any(|known| match known.strip_prefix("*.") {
        // The star stands for one label.
        Some(rest) => name.split_once('.').is_some_and(|(_, domain)| domain == rest),
        None => known == name,
    })
}

impl Used {
    fn read(files: &PairFiles, provider: &CryptoProvider) -> Result<Self, CertificateError> {
        let (cert, key) = files.read()?;
        let used = files.parse(&cert, &key, provider)?;
        let seen = Mutex::new(hash(&cert, &key));
        Ok(Self { key: RwLock::new(Arc::new(used)), source: Some((files.clone(), seen)) })
    }

    fn now(&self) -> Arc<CertifiedKey> {
        self.key.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn look(&self, provider: &CryptoProvider) -> Option<ServingNews> {
        let (files, seen) = self.source.as_ref()?;
        let read = files.read();
        // A file that cannot be read is told of once, too.
        let now = read.as_ref().map_or(0, |(cert, key)| hash(cert, key));
        let before =
            std::mem::replace(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner), now);
        if now == before {
            return None;
        }
        let path = files.cert.display().to_string();
        Some(match read.and_then(|(cert, key)| files.parse(&cert, &key, provider)) {
            Ok(key) => {
                *self.key.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
                ServingNews::CertificateReplaced(path)
            }
            Err(error) => ServingNews::CertificateUnusable(path, chain(&error)),
        })
    }
}

impl PairFiles {
    fn read(&self) -> Result<(Vec<u8>, Vec<u8>), CertificateError> {
        let read = |path: &Path| {
            let path_of = || path.display().to_string();
            fs::read(path).map_err(|source| CertificateError::Read { path: path_of(), source })
        };
        Ok((read(&self.cert)?, read(&self.key)?))
    }

    fn parse(
        &self,
        cert: &[u8],
        key: &[u8],
        provider: &CryptoProvider,
    ) -> Result<CertifiedKey, CertificateError> {
        let (cert_path, key_path) = (self.cert.display(), self.key.display());
        let empty = |what, path: &dyn std::fmt::Display| CertificateError::Empty {
            what,
            path: path.to_string(),
        };
        let certs = CertificateDer::pem_slice_iter(cert).collect::<Result<Vec<_>, _>>();
        let certs = certs.ok().filter(|certs| !certs.is_empty());
        let certs = certs.ok_or_else(|| empty("certificate", &cert_path))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| empty("key", &key_path))?;
        CertifiedKey::from_der(certs, key, provider).map_err(|source| CertificateError::Pair {
            cert: cert_path.to_string(),
            key: key_path.to_string(),
            source,
        })
    }
}

fn hash(cert: &[u8], key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (cert, key).hash(&mut hasher);
    // 0 stands for files that cannot be read.
    hasher.finish().max(1)
}

/// One that nobody has signed but itself: it keeps a secret from those who only listen.
fn make(provider: &CryptoProvider) -> Result<CertifiedKey, CertificateError> {
    let now = clock::now().to_zoned(jiff::tz::TimeZone::UTC);
    // The day before, for clocks that are a little behind ours.
    let begins = now.yesterday().unwrap_or_else(|_| now.clone());
    let date = |year: i16, of: &jiff::Zoned| {
        // The 29th of February may be none in another year.
        rcgen::date_time_ymd(
            year.into(),
            of.month().unsigned_abs(),
            of.day().clamp(1, 28).unsigned_abs(),
        )
    };
    let mut params = CertificateParams::default();
    params.not_before = date(begins.year(), &begins);
    params.not_after = date(now.year().saturating_add(YEARS), &now);
    params.distinguished_name.push(DnType::CommonName, "descheduler");
    let name = |name: &str| name.try_into().map(SanType::DnsName).map_err(CertificateError::Make);
    let address = |address: IpAddr| SanType::IpAddress(address);
    params.subject_alt_names = vec![
        name("descheduler")?,
        name("localhost")?,
        address(Ipv4Addr::LOCALHOST.into()),
        address(Ipv6Addr::LOCALHOST.into()),
    ];
    let key = KeyPair::generate().map_err(CertificateError::Make)?;
    let cert = params.self_signed(&key).map_err(CertificateError::Make)?;
    let der = PrivatePkcs8KeyDer::from(key.serialize_der());
    CertifiedKey::from_der(vec![cert.der().clone()], der.into(), provider).map_err(|source| {
        CertificateError::Pair { cert: "made".to_owned(), key: "made".to_owned(), source }
    })
}

#[cfg(test)]
mod tests {
    use rustls::crypto::aws_lc_rs::default_provider;

    use super::*;

    #[test]
    fn a_pair_for_names_is_read_as_kubernetes_does() {
        let pair = |cert: &str, key: &str, names: &[&str]| SniPair {
            files: PairFiles { cert: cert.into(), key: key.into() },
            names: names.iter().map(|&name| name.to_owned()).collect(),
        };
        let parse = |text: &str| SniPair::parse(text).ok();
        assert_eq!(parse("a.crt,a.key"), Some(pair("a.crt", "a.key", &[])));
        let two = pair("a.crt", "a.key", &["*.foo.com", "foo.com"]);
        assert_eq!(parse("a.crt,a.key:*.Foo.com,foo.com"), Some(two));
        for wrong in ["a.crt", "a.crt,", "a.crt,a.key,c", ":foo.com", ""] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_are_those_given_or_those_of_the_certificate() {
        let key = make(&default_provider()).expect("made");
        let used = Used { key: RwLock::new(Arc::new(key)), source: None };
        let is = |name: &str, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            is_for(name, &names, &used)
        };
        assert!(is("localhost", &[]));
        assert!(!is("elsewhere", &[]));
        assert!(is("a.foo.com", &["foo.com", "*.foo.com"]));
        assert!(!is("a.b.foo.com", &["*.foo.com"]));
        assert!(!is("localhost", &["foo.com"]));
    }
}
