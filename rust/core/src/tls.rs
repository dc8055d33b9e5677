//! Encryption of a connection, by rustls.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;

use bytes::BytesMut;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::cluster::TlsSettings;

const AUTHORITY: &str = "the authority's certificate";
const IDENTITY: &str = "the client's certificate";

/// The common settings of all connections to a cluster. An error says which part cannot be used.
pub fn config(settings: &TlsSettings) -> io::Result<Arc<ClientConfig>> {
    let fault =
        |part: &str, error: &dyn std::fmt::Display| io::Error::new(ErrorKind::InvalidInput, format!("{part}: {error}"));
    let certificates = |part: &str, pem: &str| -> io::Result<Vec<CertificateDer<'static>>> {
        let found = CertificateDer::pem_slice_iter(pem.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| fault(part, &error))?;
        if found.is_empty() {
            return Err(fault(part, &"it holds no certificate"));
        }
        Ok(found)
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(AUTHORITY, &settings.authority)? {
        roots.add(certificate).map_err(|error| fault(AUTHORITY, &error))?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots);
    let config = match &settings.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let key = PrivateKeyDer::from_pem_slice(identity.key.expose().as_bytes())
                .map_err(|error| fault("the client's key", &error))?;
            builder
                .with_client_auth_cert(certificates(IDENTITY, &identity.certificate)?, key)
                .map_err(|error| fault(IDENTITY, &error))?
        }
    };
    Ok(Arc::new(config))
}

/// One connection's encryption, after its handshake.
#[derive(Debug)]
pub(crate) struct Tls {
    connection: Box<ClientConnection>,
}

impl Tls {
    /// Does the handshake over a blocking stream. `host` is the name, or the address, required in the
    /// certificate.
    pub(crate) fn begin(config: &Arc<ClientConfig>, host: &str, stream: &mut TcpStream) -> io::Result<Self> {
        let name =
            ServerName::try_from(host.to_owned()).map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
        let mut connection = Box::new(ClientConnection::new(config.clone(), name).map_err(io::Error::other)?);
        while connection.is_handshaking() {
            connection.complete_io(stream)?;
        }
        Ok(Self { connection })
    }

    /// True while encrypted bytes wait for the socket.
    pub(crate) fn wants_to_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// Encrypts as much of `plain` as fits; returns its length.
    pub(crate) fn encrypt(&mut self, plain: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut self.connection.writer(), plain)
    }

    /// Sends encrypted bytes, once.
    pub(crate) fn send(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        self.connection.write_tls(stream).map(|_| ())
    }

    /// Decrypts the bytes that have arrived, and appends them to `plain`.
    pub(crate) fn decrypt(&mut self, mut arrived: &[u8], plain: &mut BytesMut) -> io::Result<()> {
        while !arrived.is_empty() {
            if self.connection.read_tls(&mut arrived)? == 0 {
                return Err(io::Error::new(
                    ErrorKind::UnexpectedEof,
                    "the peer had ended the encryption",
                ));
            }
            let state = self.connection.process_new_packets().map_err(io::Error::other)?;
            let (before, ready) = (plain.len(), state.plaintext_bytes_to_read());
            plain.resize(before + ready, 0);
            io::Read::read_exact(&mut self.connection.reader(), &mut plain[before..])?;
        }
        Ok(())
    }
}
