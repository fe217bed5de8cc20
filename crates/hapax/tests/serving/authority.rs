//! An authority of the tests' own, and the certificates that it gives.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::CertificateDer;

/// An authority of our own.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub der: CertificateDer<'static>,
    pub pem: String,
}

/// A certificate for this machine, and its key.
pub struct Certificate {
    pub der: Vec<u8>,
    pub pem: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Self {
        Self::named("an authority of our own")
    }

    pub fn named(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("an authority");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = params.self_signed(&key).expect("a certificate");
        Self { der: own.der().clone(), pem: own.pem(), issuer: Issuer::new(params, key) }
    }

    pub fn certify(&self) -> Certificate {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).expect("names");
        params.distinguished_name.push(DnType::CommonName, "localhost");
        let own = params.signed_by(&key, &self.issuer).expect("a certificate");
        Certificate { der: own.der().to_vec(), pem: own.pem(), key: key.serialize_pem() }
    }
}
