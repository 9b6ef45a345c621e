"""A mail server on a free loopback port: writes the port as a line, then each mail as a line of JSON.

    mail_server.py plain | starttls CERT KEY | tls CERT KEY     user `agent` with the password `swordfish`, but for plain
"""

import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


class Handler:
    async def handle_DATA(self, server, session, envelope):
        is_tls = session.ssl is not None or server.transport.get_extra_info("sslcontext") is not None
        mail = {"from": envelope.mail_from, "to": envelope.rcpt_tos, "data": envelope.content.decode(), "tls": is_tls}
        print(json.dumps(mail), flush=True)
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    # Not handled: the server itself answers a wrong password.
    return AuthResult(success=(data.login, data.password) == (b"agent", b"swordfish"), handled=False)


async def main(kind, files):
    context = None
    if files:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
    secured = {"authenticator": authenticate, "auth_required": True, "auth_require_tls": kind == "starttls"} if files else {}
    starttls = context if kind == "starttls" else None
    server = await asyncio.get_running_loop().create_server(
        lambda: SMTP(Handler(), hostname="localhost", tls_context=starttls, require_starttls=kind == "starttls", **secured),
        "127.0.0.1", 0, ssl=context if kind == "tls" else None)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main(sys.argv[1], sys.argv[2:]))
