//! How connections are made: how long one waits, whom one trusts.

use std::time::Duration;

use ureq::Agent;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::Error;

/// A connection that is not open by then is counted as failed; a server on the other side of the world needs half a second.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Silence for so long is a broken connection: the server answers within seconds, and followers hear from it more often.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A server hangs up on connections that are silent for ten seconds, and a call on one of those would have to be repeated.
const IDLE_MAX: Duration = Duration::from_secs(5);

/// For a host; trusting those whom browsers trust, or only these.
pub(crate) fn agent(host: &str, roots: Option<RootCerts>) -> Agent {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(Some(CONNECT_MAX))
        .timeout_per_read(Some(SILENCE_MAX))
        .max_idle_age(IDLE_MAX)
        .user_agent(concat!("hapax-client/", env!("CARGO_PKG_VERSION")));
    if host == "localhost" || host.starts_with("127.") || host == "[::1]" {
        // A proxy's own loopback is another machine's.
        config = config.proxy(None);
    }
    if let Some(roots) = roots {
        config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
    }
    Agent::new_with_config(config.build())
}

/// The certificates of a PEM file.
pub(crate) fn roots(pem: &[u8]) -> Result<RootCerts, Error> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        let item = item.map_err(|error| Error::Wrong(format!("the certificates are not PEM: {error}")))?;
        if let PemItem::Certificate(certificate) = item {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        return Err(Error::Wrong("there is no certificate in the PEM file".to_owned()));
    }
    Ok(RootCerts::from(found))
}
