//! A harness in small, in Rust without crates: runs a workspace's test command confined, shows its output as it comes and what was
//! refused, ends a command from another thread, and runs commands from 16 threads on one policy.
//!
//!     rustc --edition 2021 -O -L PREFIX/lib run_tests.rs
//!     LD_LIBRARY_PATH=PREFIX/lib ./run_tests WORKSPACE

#[allow(dead_code)]
mod procage;

use std::os::raw::{c_char, c_int, c_void};
use std::{slice, thread, time::Duration};

use procage::{Cancel, How, Policy, Result};

/// No panic may leave it: nothing in it can.
extern "C" fn show(_: *mut c_void, stream: c_int, bytes: *const c_char, size: usize) -> c_int {
    use std::io::Write;
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), size) };
    let name = if stream == 1 { "stdout" } else { "stderr" };
    let mut out = std::io::stdout();
    let is_written = write!(out, "{name}: ").and_then(|()| out.write_all(bytes)).is_ok();
    c_int::from(!is_written)
}

fn cancel_a_run(policy: &Policy) -> Result<()> {
    let cancel = Cancel::new()?;
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            cancel.request();
        });
        policy.run(&["sleep", "60"], &How { cancel: Some(&cancel), ..How::default() })
    })?;
    println!("sleep: {}", if outcome.is_cancelled() { "cancelled" } else { "ended" });
    Ok(())
}

/// Each run has an input and a status of its own, and is to come back with both.
fn run_in_threads(policy: &Policy, threads: usize, each: usize) -> Result<()> {
    thread::scope(|scope| {
        let started: Vec<_> = (0..threads)
            .map(|number| {
                scope.spawn(move || -> Result<()> {
                    for i in 0..each {
                        let input = format!("{number}.{i}");
                        let line = format!("cat; exit {number}");
                        let how = How { input: input.as_bytes(), timeout_ms: 60000, ..How::default() };
                        let outcome = policy.run(&["/bin/sh", "-c", &line], &how)?;
                        if outcome.status() != number as i32 || outcome.stdout() != input.as_bytes() {
                            return Err(format!("thread {number}, run {i}: status {}", outcome.status()));
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        started.into_iter().try_for_each(|one| one.join().unwrap())
    })?;
    println!("{threads} threads: {} runs, all right", threads * each);
    Ok(())
}

fn main() -> Result<()> {
    let workspace = std::env::args().nth(1).ok_or("usage: run_tests /absolute/workspace")?;
    let policy = Policy::load("speccoder", &workspace)?;
    // A test command that builds something, and would leave a file outside of its workspace.
    let line = "echo building; echo kept >result; echo lost >~/outside || exit 3";
    let outcome = policy.run(&["sh", "-c", line], &How { on_output: Some(show), ..How::default() })?;
    println!("test: exit status {}", outcome.status());
    print!("{}", outcome.denials());
    let is_refused = policy.why("write", "~/outside")?.contains("\"allowed\":false");
    println!("outside: {}", if is_refused { "refused" } else { "allowed" });
    cancel_a_run(&policy)?;
    run_in_threads(&policy, 16, 4)
}
