//! procage.h for Rust, as much of it as the examples use.

use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::slice;

mod ffi {
    use std::os::raw::{c_char, c_int, c_void};

    #[repr(C)]
    pub struct Load {
        pub size: usize,
        pub policy: *const c_char,
        pub text: *const c_char,
        pub workspace: *const c_char,
        pub config_json: *const c_char,
        pub home: *const c_char,
        pub env: *const *const c_char,
        pub host_json: *const c_char,
        pub is_prepared: c_int,
    }

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
        pub on_output: Option<super::OnOutput>,
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
        pub fn procage_outcome_signal(outcome: *const c_void) -> c_int;
        pub fn procage_outcome_timed_out(outcome: *const c_void) -> c_int;
        pub fn procage_outcome_cancelled(outcome: *const c_void) -> c_int;
        pub fn procage_outcome_stdout(outcome: *const c_void, size: *mut usize) -> *const c_char;
        pub fn procage_outcome_stderr(outcome: *const c_void, size: *mut usize) -> *const c_char;
        pub fn procage_outcome_denials(outcome: *const c_void) -> *const c_char;
        pub fn procage_outcome_events(outcome: *const c_void) -> *const c_char;
        pub fn procage_outcome_free(outcome: *mut c_void);
        pub fn procage_cancel_new(cancel: *mut *mut c_void, error: *mut *mut c_void) -> c_int;
        pub fn procage_cancel_request(cancel: *mut c_void, is_now: c_int);
        pub fn procage_cancel_free(cancel: *mut c_void);
        pub fn procage_error_text(error: *const c_void) -> *const c_char;
        pub fn procage_error_free(error: *mut c_void);
        pub fn procage_free(text: *mut c_char);
    }
}

pub type Result<T> = std::result::Result<T, String>;

/// Told of output: context, stream (1 or 2), bytes. No panic may leave it.
pub type OnOutput = extern "C" fn(*mut c_void, c_int, *const c_char, usize) -> c_int;

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

/// Ends runs, from any thread.
pub struct Cancel(*mut c_void);
unsafe impl Send for Cancel {}
unsafe impl Sync for Cancel {}

impl Cancel {
    pub fn new() -> Result<Cancel> {
        made(|to, error| unsafe { ffi::procage_cancel_new(to, error) }).map(Cancel)
    }

    pub fn request(&self) {
        unsafe { ffi::procage_cancel_request(self.0, 0) }
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        unsafe { ffi::procage_cancel_free(self.0) }
    }
}

/// How a command runs, beyond its words.
#[derive(Default)]
pub struct How<'a> {
    pub input: &'a [u8],
    /// 0: the policy's.
    pub timeout_ms: i64,
    pub on_output: Option<OnOutput>,
    pub cancel: Option<&'a Cancel>,
}

pub struct Policy {
    runtime: *mut c_void,
    policy: *mut c_void,
}

// Every function of procage may be called from any thread.
unsafe impl Send for Policy {}
unsafe impl Sync for Policy {}

impl Policy {
    pub fn load(name: &str, workspace: &str) -> Result<Policy> {
        Policy::open(name, workspace, false)
    }

    /// The same, and each run has its successor started ahead: for a host that starts many.
    pub fn prepared(name: &str, workspace: &str) -> Result<Policy> {
        Policy::open(name, workspace, true)
    }

    fn open(name: &str, workspace: &str, is_prepared: bool) -> Result<Policy> {
        let (name, workspace) = (CString::new(name).unwrap(), CString::new(workspace).unwrap());
        let load = ffi::Load {
            size: std::mem::size_of::<ffi::Load>(),
            policy: name.as_ptr(),
            text: null(),
            workspace: workspace.as_ptr(),
            config_json: null(),
            home: null(),
            env: null(),
            host_json: null(),
            is_prepared: is_prepared.into(),
        };
        let runtime = made(|to, error| unsafe { ffi::procage_open(null(), to, error) })?;
        let policy = made(|to, error| unsafe { ffi::procage_load(runtime, &load, to, error) });
        if policy.is_err() {
            unsafe { ffi::procage_close(runtime) };
        }
        Ok(Policy { runtime, policy: policy? })
    }

    pub fn run(&self, argv: &[&str], how: &How) -> Result<Outcome> {
        let words: Vec<CString> = argv.iter().map(|word| CString::new(*word).unwrap()).collect();
        let mut list: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
        list.push(null());
        let command = ffi::Command {
            size: std::mem::size_of::<ffi::Command>(),
            argv: list.as_ptr(),
            env: null(),
            cwd: null(),
            input: if how.input.is_empty() { null() } else { how.input.as_ptr().cast() },
            input_size: how.input.len(),
            input_file: null(),
            timeout_ms: how.timeout_ms,
            on_output: how.on_output,
            context: null_mut(),
            cancel: how.cancel.map_or(null_mut(), |handle| handle.0),
        };
        made(|to, error| unsafe { ffi::procage_run(self.policy, &command, to, error) }).map(Outcome)
    }

    /// What the policy has to say of an operation, as JSON.
    pub fn why(&self, operation: &str, target: &str) -> Result<String> {
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

pub struct Outcome(*mut c_void);

impl Outcome {
    /// -1 where a signal ended the command.
    pub fn status(&self) -> i32 {
        unsafe { ffi::procage_outcome_status(self.0) }
    }

    pub fn signal(&self) -> i32 {
        unsafe { ffi::procage_outcome_signal(self.0) }
    }

    pub fn is_timed_out(&self) -> bool {
        unsafe { ffi::procage_outcome_timed_out(self.0) != 0 }
    }

    pub fn is_cancelled(&self) -> bool {
        unsafe { ffi::procage_outcome_cancelled(self.0) != 0 }
    }

    fn stream(&self, of: unsafe extern "C" fn(*const c_void, *mut usize) -> *const c_char) -> &[u8] {
        let mut size = 0;
        unsafe {
            let bytes = of(self.0, &mut size);
            slice::from_raw_parts(bytes.cast(), size)
        }
    }

    pub fn stdout(&self) -> &[u8] {
        self.stream(ffi::procage_outcome_stdout)
    }

    pub fn stderr(&self) -> &[u8] {
        self.stream(ffi::procage_outcome_stderr)
    }

    pub fn denials(&self) -> String {
        text(unsafe { ffi::procage_outcome_denials(self.0) })
    }

    pub fn events(&self) -> String {
        text(unsafe { ffi::procage_outcome_events(self.0) })
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        unsafe { ffi::procage_outcome_free(self.0) }
    }
}
