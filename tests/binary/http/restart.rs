//! An approval that outlives its server: any process on the state folder finishes it, one elsewhere does not, and nobody finishes it twice.

use serde_json::{Value, json};

use crate::http::home::{Home, Policy};
use crate::http::server::HttpServer;
use crate::http::wire::{Caller, request};
use crate::http::{NOTES, house, signal, token, until};

const PLAIN: Policy = Policy { approvals: "", limits: "breaker = { denials = 1000, within = \"1m\" }", python: "" };

fn append() -> Value {
    json!({"name": "write_file", "arguments": {"path": "project/notes.txt", "content": "+", "mode": "append"}})
}

fn yes(params: &Value, state: &Value) -> Value {
    let mut params = params.clone();
    params["requestState"] = state.clone();
    params["inputResponses"] = json!({"approval": {"action": "accept", "content": {"decision": "once"}}});
    params
}

fn caller<'a>(server: &'a HttpServer, token: Option<&'a str>) -> Caller<'a> {
    Caller { address: &server.address, token }
}

fn code(answer: &Value) -> &str {
    answer["result"]["structuredContent"]["code"].as_str().unwrap_or_default()
}

fn went_well(answer: &Value) -> bool {
    answer["result"].is_object() && answer["result"]["isError"] != true && answer["result"]["resultType"] != "input_required"
}

fn asked(caller: Caller<'_>, params: &Value) -> Value {
    let answer = caller.call_with("write_file", params).message();
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    answer["result"]["requestState"].clone()
}

fn killed(mut server: HttpServer) {
    signal(&server, "-KILL");
    server.child.take().unwrap().wait().unwrap();
}

#[test]
fn a_server_that_was_killed_is_succeeded_by_the_next_which_finishes_the_approval_once() {
    let home = house(PLAIN, "");
    let first = HttpServer::start(&home);
    let state = asked(caller(&first, None), &append());
    killed(first);
    let second = HttpServer::start(&home);
    let done = caller(&second, None).call_with("write_file", &yes(&append(), &state)).message();
    assert!(went_well(&done), "{done}");
    assert_eq!(home.read("project/notes.txt"), format!("{NOTES}+"));
    // As it was when it was shown, so that nothing but the used mark stands against it.
    killed(second);
    let third = HttpServer::start(&home);
    let again = caller(&third, None).call_with("write_file", &yes(&append(), &state)).message();
    assert!(["approval_replayed", "approval_mismatch"].contains(&code(&again)), "{again}");
    assert_eq!(home.read("project/notes.txt"), format!("{NOTES}+"));
    third.stop();
    home.verify();
}

#[test]
fn sessions_of_a_killed_server_are_gone_for_the_next_which_says_so_and_wipes_their_folders() {
    let home = house(PLAIN, "");
    let first = HttpServer::start(&home);
    let session = caller(&first, None).begin();
    let left = json!({"path": "work/left.txt", "content": "x"});
    assert!(went_well(&caller(&first, None).call_in(&session, 1, "write_file", &left).message()));
    let left = || crate::http::lifetime::walk(&home.state()).into_iter().filter(|path| path.ends_with("left.txt")).count();
    assert_eq!(left(), 1);
    killed(first);
    let second = HttpServer::start(&home);
    // On a thread of low priority, beside the first calls.
    until("the folder of the lost session is wiped", || left() == 0);
    let read = json!({"path": "project/notes.txt"});
    let headers = [("mcp-session-id", session.as_str()), ("accept", "text/event-stream"), ("last-event-id", "1")];
    for answer in [
        caller(&second, None).call_in(&session, 2, "read_file", &read),
        // Also to what sends anything else than a call.
        caller(&second, None)
            .post(&[("mcp-session-id", &session)], &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()),
        request(&second.address, "GET", "/mcp", &headers[..2], b""),
        request(&second.address, "GET", "/mcp", &headers, b""),
        request(&second.address, "DELETE", "/mcp", &headers[..1], b""),
    ] {
        // 2025-11-25, basic/transports, session management: then the client begins anew.
        assert_eq!((answer.status, answer.body.contains("begin anew with initialize")), (404, true), "{answer:?}");
    }
    let session = caller(&second, None).begin();
    let answer = caller(&second, None).call_in(&session, 2, "read_file", &read);
    assert_eq!(answer.message()["result"]["content"][0]["text"], NOTES, "{answer:?}");
    second.stop();
    home.verify();
}

#[test]
fn a_used_approval_stays_used_after_a_crash_also_where_nothing_else_tells() {
    let home = house(PLAIN, "");
    let first = HttpServer::start(&home);
    let params = json!({"name": "move_file", "arguments": {"from": "project/notes.txt", "to": "project/moved.txt"}});
    let answer = caller(&first, None).call_with("move_file", &params).message();
    let state = &answer["result"]["requestState"];
    assert!(state.is_string(), "{answer}");
    assert!(went_well(&caller(&first, None).call_with("move_file", &yes(&params, state)).message()));
    killed(first);
    // The very file is where it was: same device, inode, size and time.
    std::fs::rename(home.path("project/moved.txt"), home.path("project/notes.txt")).unwrap();
    let second = HttpServer::start(&home);
    let again = caller(&second, None).call_with("move_file", &yes(&params, state)).message();
    assert_eq!(code(&again), "approval_replayed", "{again}");
    assert!(home.path("project/notes.txt").exists());
    second.stop();
    home.verify();
}

#[test]
fn of_sixty_four_repeats_on_two_servers_at_once_one_acts() {
    let home = house(Policy { limits: "concurrent_calls = 100\nbreaker = { denials = 1000, within = \"1m\" }", ..PLAIN }, "");
    let servers = [HttpServer::start(&home), HttpServer::start(&home)];
    let state = asked(caller(&servers[0], None), &append());
    let repeat = yes(&append(), &state);
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..64)
            .map(|n| {
                let (server, repeat) = (&servers[n % 2], &repeat);
                scope.spawn(move || caller(server, None).call_with("write_file", repeat).message())
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|answer| went_well(answer)).count(), 1, "{}", answers.iter().map(code).collect::<Vec<_>>().join(" "));
    assert_eq!(home.read("project/notes.txt"), format!("{NOTES}+"));
    for server in servers {
        server.stop();
    }
    home.verify();
}

#[test]
fn an_approval_of_one_caller_is_of_no_use_to_another_nor_on_another_installation() {
    let both = [token("ann", "secret-one"), token("bob", "secret-two")].concat();
    let home = house(PLAIN, &both);
    let server = HttpServer::start(&home);
    let state = asked(caller(&server, Some("secret-one")), &append());
    let stolen = caller(&server, Some("secret-two")).call_with("write_file", &yes(&append(), &state)).message();
    assert!(["approval_wrong_principal", "approval_mismatch"].contains(&code(&stolen)), "{stolen}");
    let elsewhere: Home = house(PLAIN, &both);
    let other = HttpServer::start(&elsewhere);
    let foreign = caller(&other, Some("secret-one")).call_with("write_file", &yes(&append(), &state)).message();
    assert_eq!(code(&foreign), "approval_mismatch", "{foreign}");
    assert_eq!((home.read("project/notes.txt"), elsewhere.read("project/notes.txt")), (NOTES.to_owned(), NOTES.to_owned()));
    let own = caller(&server, Some("secret-one")).call_with("write_file", &yes(&append(), &state)).message();
    assert!(went_well(&own), "{own}");
}
