//! TLS to the database: whom it trusts, and what it does with the others.

use std::fs;
use std::path::Path;

use crate::authority::Authority;
use crate::cluster::Cluster;
use crate::events::{CONTRACT, EVENTS, event};
use crate::process::{Server, folder};
use crate::refused::refusal;

#[test]
fn it_speaks_tls_with_a_database_that_proves_who_it_is() {
    let (ours, others) = (Authority::new(), Authority::named("an authority of others"));
    let certificate = ours.certify();
    let cluster = Cluster::new(&[]);
    let url = |more: &str| cluster.url("hapax").replace("sslmode=disable", more);
    // Without TLS there is nothing to prove anything with.
    let said = refusal(&url("sslmode=require"));
    assert!(said.contains("TLS"), "{said}");
    cluster.put("cert.pem", &certificate.pem);
    cluster.put("key.pem", &certificate.key);
    cluster.stop_fast();
    cluster.start_with(&["ssl=on", "ssl_cert_file=cert.pem", "ssl_key_file=key.pem"]);

    let folder = folder("database-tls");
    let trusting = |authority: &Authority, name: &str| {
        let root = folder.join(name);
        fs::write(&root, &authority.pem).expect("a file");
        url(&format!("sslmode=verify-full&sslrootcert={}", root.display()))
    };
    let said = refusal(&trusting(&others, "others.pem"));
    assert!(said.contains("certificate"), "{said}");
    // The certificate is for this machine and for nobody else.
    let said = refusal(&trusting(&ours, "ours.pem").replace("127.0.0.1", "127.0.0.2"));
    assert!(said.contains("127.0.0.2") || said.contains("certificate"), "{said}");

    let server = Server::loud(Path::new(&trusting(&ours, "ours.pem")), "off", &[]);
    server.put("s", CONTRACT);
    let reply = server.post(EVENTS, &event(0, 1).to_string());
    assert_eq!(reply.status, 201, "{}", reply.text());
    let open = "SELECT count(*) > 0, bool_and(s.ssl) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
                WHERE a.client_addr IS NOT NULL AND a.pid <> pg_backend_pid()";
    assert_eq!(cluster.ask(open).trim(), "t|t", "every connection of it speaks TLS");
}
