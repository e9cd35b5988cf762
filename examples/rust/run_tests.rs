//! A harness in small, in Rust without crates: runs a workspace's test command confined, shows its output as it comes and what was
//! refused, ends a command from another thread, and runs commands from 16 threads on one policy.
//!
//!     rustc --edition 2021 -O -L PREFIX/lib run_tests.rs
//!     LD_LIBRARY_PATH=PREFIX/lib ./run_tests WORKSPACE

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::{null, null_mut};
use std::{slice, thread, time::Duration};

/// procage.h, as much of it as is used here.
mod ffi {
    use std::ffi::{c_char, c_int, c_void};

    #[repr(C)]
    pub struct Load {
        pub size: usize,
        pub policy: *const c_char,
        pub text: *const c_char,
        pub workspace: *const c_char,
        pub config_json: *const c_char,
        pub home: *const c_char,
        pub env: *const *const c_char,
    }

    pub type OnOutput = extern "C" fn(*mut c_void, c_int, *const c_char, usize) -> c_int;

    #[repr(C)]
    pub struct Command {
        pub size: usize,
        pub argv: *const *const c_char,
        pub env: *const *const c_char,
        pub cwd: *const c_char,
        pub input: *const c_void,
        pub input_size: usize,
        pub input_file: *const c_char,
        pub timeout_ms: i64,
        pub on_output: Option<OnOutput>,
        pub context: *mut c_void,
        pub cancel: *mut c_void,
    }

    #[link(name = "procage")]
    extern "C" {
        pub fn procage_open(options: *const c_void, runtime: *mut *mut c_void, error: *mut *mut c_void) -> c_int;
        pub fn procage_close(runtime: *mut c_void);
        pub fn procage_load(
            runtime: *mut c_void,
            load: *const Load,
            policy: *mut *mut c_void,
            error: *mut *mut c_void,
        ) -> c_int;
        pub fn procage_policy_free(policy: *mut c_void);
        pub fn procage_why(
            policy: *mut c_void,
            operation: *const c_char,
            target: *const c_char,
            json: *mut *mut c_char,
            error: *mut *mut c_void,
        ) -> c_int;
        pub fn procage_run(
            policy: *mut c_void,
            command: *const Command,
            outcome: *mut *mut c_void,
            error: *mut *mut c_void,
        ) -> c_int;
        pub fn procage_outcome_status(outcome: *const c_void) -> c_int;
        pub fn procage_outcome_cancelled(outcome: *const c_void) -> c_int;
        pub fn procage_outcome_stdout(outcome: *const c_void, size: *mut usize) -> *const c_char;
        pub fn procage_outcome_denials(outcome: *const c_void) -> *const c_char;
        pub fn procage_outcome_free(outcome: *mut c_void);
        pub fn procage_cancel_new(cancel: *mut *mut c_void, error: *mut *mut c_void) -> c_int;
        pub fn procage_cancel_request(cancel: *mut c_void, is_now: c_int);
        pub fn procage_cancel_free(cancel: *mut c_void);
        pub fn procage_error_text(error: *const c_void) -> *const c_char;
        pub fn procage_error_free(error: *mut c_void);
        pub fn procage_free(text: *mut c_char);
    }
}

type Result<T> = std::result::Result<T, String>;

fn text(bytes: *const c_char) -> String {
    unsafe { CStr::from_ptr(bytes) }.to_string_lossy().into_owned()
}

/// What a call made, or what its error says.
fn made<T>(call: impl FnOnce(*mut *mut T, *mut *mut c_void) -> c_int) -> Result<*mut T> {
    let (mut object, mut error) = (null_mut(), null_mut());
    if call(&mut object, &mut error) == 0 {
        return Ok(object);
    }
    let message = text(unsafe { ffi::procage_error_text(error) });
    unsafe { ffi::procage_error_free(error) };
    Err(message)
}

struct Policy {
    runtime: *mut c_void,
    policy: *mut c_void,
}

// Every function of procage may be called from any thread.
unsafe impl Send for Policy {}
unsafe impl Sync for Policy {}

struct Cancel(*mut c_void);
unsafe impl Send for Cancel {}
unsafe impl Sync for Cancel {}

struct Outcome(*mut c_void);

impl Policy {
    fn load(name: &str, workspace: &str) -> Result<Policy> {
        let (name, workspace) = (CString::new(name).unwrap(), CString::new(workspace).unwrap());
        let load = ffi::Load {
            size: std::mem::size_of::<ffi::Load>(),
            policy: name.as_ptr(),
            text: null(),
            workspace: workspace.as_ptr(),
            config_json: null(),
            home: null(),
            env: null(),
        };
        let runtime = made(|to, error| unsafe { ffi::procage_open(null(), to, error) })?;
        let policy = made(|to, error| unsafe { ffi::procage_load(runtime, &load, to, error) });
        if policy.is_err() {
            unsafe { ffi::procage_close(runtime) };
        }
        Ok(Policy { runtime, policy: policy? })
    }

    fn run(&self, argv: &[&str], input: &[u8], on_output: Option<ffi::OnOutput>, cancel: Option<&Cancel>) -> Result<Outcome> {
        let words: Vec<CString> = argv.iter().map(|word| CString::new(*word).unwrap()).collect();
        let mut list: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
        list.push(null());
        let command = ffi::Command {
            size: std::mem::size_of::<ffi::Command>(),
            argv: list.as_ptr(),
            env: null(),
            cwd: null(),
            input: if input.is_empty() { null() } else { input.as_ptr().cast() },
            input_size: input.len(),
            input_file: null(),
            timeout_ms: 60000,
            on_output,
            context: null_mut(),
            cancel: cancel.map_or(null_mut(), |handle| handle.0),
        };
        made(|to, error| unsafe { ffi::procage_run(self.policy, &command, to, error) }).map(Outcome)
    }

    fn why(&self, operation: &str, target: &str) -> Result<String> {
        let (operation, target) = (CString::new(operation).unwrap(), CString::new(target).unwrap());
        let json = made(|to, error| unsafe {
            ffi::procage_why(self.policy, operation.as_ptr(), target.as_ptr(), to, error)
        })?;
        let answer = text(json);
        unsafe { ffi::procage_free(json) };
        Ok(answer)
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        unsafe {
            ffi::procage_policy_free(self.policy);
            ffi::procage_close(self.runtime);
        }
    }
}

impl Outcome {
    fn status(&self) -> i32 {
        unsafe { ffi::procage_outcome_status(self.0) }
    }

    fn stdout(&self) -> &[u8] {
        let mut size = 0;
        unsafe {
            let bytes = ffi::procage_outcome_stdout(self.0, &mut size);
            slice::from_raw_parts(bytes.cast(), size)
        }
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        unsafe { ffi::procage_outcome_free(self.0) }
    }
}

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
    let cancel = Cancel(made(|to, error| unsafe { ffi::procage_cancel_new(to, error) })?);
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let handle = &cancel;
            thread::sleep(Duration::from_millis(200));
            unsafe { ffi::procage_cancel_request(handle.0, 0) };
        });
        policy.run(&["sleep", "60"], b"", None, Some(&cancel))
    })?;
    let is_cancelled = unsafe { ffi::procage_outcome_cancelled(outcome.0) } != 0;
    println!("sleep: {}", if is_cancelled { "cancelled" } else { "ended" });
    unsafe { ffi::procage_cancel_free(cancel.0) };
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
                        let outcome = policy.run(&["/bin/sh", "-c", &line], input.as_bytes(), None, None)?;
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
    let outcome = policy.run(&["sh", "-c", line], b"", Some(show), None)?;
    println!("test: exit status {}", outcome.status());
    print!("{}", text(unsafe { ffi::procage_outcome_denials(outcome.0) }));
    let is_refused = policy.why("write", "~/outside")?.contains("\"allowed\":false");
    println!("outside: {}", if is_refused { "refused" } else { "allowed" });
    cancel_a_run(&policy)?;
    run_in_threads(&policy, 16, 4)
}
