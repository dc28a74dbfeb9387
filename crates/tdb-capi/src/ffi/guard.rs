//! Calls of functions of the caller that may throw exceptions of C++, which would otherwise end the
//! process: no code of Rust may catch them, and callers in C++ expect none of a function in C.
#![expect(unsafe_code, reason = "the frame that catches exceptions is no function of Rust")]

use super::Failure;

/// Calls a function, and makes an exception that it throws a failure.
///
/// # Errors
/// The function throws an exception.
pub(super) fn guarded(call: impl Fn() -> i32) -> Result<i32, Failure> {
    frame::call(&call).map_err(|text| {
        Failure::new(format!("Error in callback: {}", text.as_deref().unwrap_or("it threw an exception")))
    })
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod frame {
    //! A frame whose personality routine, which the unwinder asks, catches every exception.

    use core::arch::global_asm;
    use core::ffi::{CStr, c_char, c_int, c_void};

    /// What the unwinder asks and is told.
    const SEARCH: c_int = 1;
    const HANDLER_FRAME: c_int = 4;
    const HANDLER_FOUND: c_int = 6;
    const INSTALL_CONTEXT: c_int = 7;
    const CONTINUE: c_int = 8;

    /// The register in which the exception is passed to the code that catches it: `rax`.
    const EXCEPTION_REGISTER: c_int = 0;

    /// The class of exceptions that C++ throws, and the bytes from the type of one, and to the
    /// object, to and from what the unwinder knows of it: the C++ ABI of Itanium has them so.
    const CPP: u64 = u64::from_be_bytes(*b"GNUCC++\0");
    const FROM_TYPE: usize = 80;
    const TO_OBJECT: usize = 32;

    // The function `tdb_guarded_call(function, data, result)` writes what `function(data)` returns
    // to `result`, and returns null; if an exception is thrown, it returns that. The function
    // `tdb_std_exception()` returns the type of exceptions of the C++ library, null if there is no
    // such library.
    global_asm!(
        ".text",
        ".hidden tdb_guarded_call",
        ".globl tdb_guarded_call",
        ".type tdb_guarded_call,@function",
        "tdb_guarded_call:",
        ".cfi_startproc",
        ".cfi_personality 0x9b, DW.ref.tdb_guard_personality",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push rdx",
        "sub rsp, 8",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "mov rdx, qword ptr [rbp - 8]",
        "mov dword ptr [rdx], eax",
        "xor eax, eax",
        ".hidden tdb_guard_landing",
        ".globl tdb_guard_landing",
        "tdb_guard_landing:",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        ".size tdb_guarded_call, .-tdb_guarded_call",
        ".weak _ZTISt9exception",
        ".hidden tdb_std_exception",
        ".globl tdb_std_exception",
        ".type tdb_std_exception,@function",
        "tdb_std_exception:",
        ".cfi_startproc",
        "mov rax, qword ptr [rip + _ZTISt9exception@GOTPCREL]",
        "ret",
        ".cfi_endproc",
        ".size tdb_std_exception, .-tdb_std_exception",
        ".hidden DW.ref.tdb_guard_personality",
        ".weak DW.ref.tdb_guard_personality",
        ".section .data.rel.local.DW.ref.tdb_guard_personality,\"awG\",@progbits,DW.ref.tdb_guard_personality,comdat",
        ".balign 8",
        ".type DW.ref.tdb_guard_personality,@object",
        ".size DW.ref.tdb_guard_personality,8",
        "DW.ref.tdb_guard_personality:",
        ".quad {personality}",
        ".text",
        personality = sym personality,
    );

    // SAFETY: the first three are above; the others are of the unwinder, which the standard library
    // uses.
    unsafe extern "C" {
        fn tdb_guarded_call(
            function: extern "C-unwind" fn(*const c_void) -> i32,
            data: *const c_void,
            result: *mut i32,
        ) -> *mut c_void;
        fn tdb_guard_landing();
        fn tdb_std_exception() -> *const c_void;
        fn _Unwind_DeleteException(exception: *mut c_void);
        fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
        fn _Unwind_SetIP(context: *mut c_void, address: usize);
    }

    /// Answers the unwinder that the frame catches the exception, and where.
    extern "C" fn personality(
        _version: c_int,
        actions: c_int,
        _class: u64,
        exception: *mut c_void,
        context: *mut c_void,
    ) -> c_int {
        if actions & SEARCH != 0 {
            return HANDLER_FOUND;
        }
        // The end of a thread passes through.
        if actions & HANDLER_FRAME == 0 {
            return CONTINUE;
        }
        // SAFETY: the unwinder passes its context, and an exception that is in flight.
        unsafe {
            _Unwind_SetGR(context, EXCEPTION_REGISTER, exception.addr());
            _Unwind_SetIP(context, (tdb_guard_landing as *const ()).addr());
        }
        INSTALL_CONTEXT
    }

    /// Calls a closure of this type.
    extern "C-unwind" fn call_closure<F: Fn() -> i32>(data: *const c_void) -> i32 {
        // SAFETY: `call` passes a reference to such a closure, which it keeps.
        unsafe { (*data.cast::<F>())() }
    }

    /// What C++ knows of a type: here that the sixth of its functions makes a pointer to an object
    /// of it one to an object of a base of it.
    #[repr(C)]
    struct TypeInfo {
        functions: *const TypeFunctions,
    }

    #[repr(C)]
    struct TypeFunctions {
        others: [usize; 5],
        upcast: unsafe extern "C" fn(*const TypeInfo, *const c_void, *mut *mut c_void) -> bool,
    }

    /// An exception of the C++ library: the third of its functions says what it is.
    #[repr(C)]
    struct Exception {
        functions: *const ExceptionFunctions,
    }

    #[repr(C)]
    struct ExceptionFunctions {
        others: [usize; 2],
        what: unsafe extern "C" fn(*const Exception) -> *const c_char,
    }

    /// The text of an exception of C++ that has one.
    fn text(exception: *mut c_void) -> Option<String> {
        // SAFETY: the unwinder caught the exception, which begins with its class. Of an exception
        // of C++ the type and the object are where the ABI says; the functions are those of every
        // type and of every exception of the C++ library.
        unsafe {
            let base = tdb_std_exception();
            if exception.cast::<u64>().read() != CPP || base.is_null() {
                return None;
            }
            let kind = exception.byte_sub(FROM_TYPE).cast::<*const TypeInfo>().read();
            let mut object = exception.byte_add(TO_OBJECT);
            if !((*(*kind).functions).upcast)(kind, base, &raw mut object) {
                return None;
            }
            let object = object.cast::<Exception>().cast_const();
            let what = ((*(*object).functions).what)(object);
            (!what.is_null()).then(|| CStr::from_ptr(what).to_string_lossy().into_owned())
        }
    }

    /// The result of a closure, or the text of what it throws.
    pub(super) fn call<F: Fn() -> i32>(closure: &F) -> Result<i32, Option<String>> {
        let mut result = 0;
        let data = core::ptr::from_ref(closure).cast();
        // SAFETY: the function calls `call_closure` with the closure, and writes the result.
        let exception = unsafe { tdb_guarded_call(call_closure::<F>, data, &raw mut result) };
        if exception.is_null() {
            return Ok(result);
        }
        let text = text(exception);
        // SAFETY: the exception was caught, and nobody else has it.
        unsafe { _Unwind_DeleteException(exception) };
        Err(text)
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod frame {
    //! Other machines have no such frame yet: an exception ends the process.

    /// The result of a closure.
    #[expect(clippy::unnecessary_wraps, reason = "the other frame has failures")]
    pub(super) fn call<F: Fn() -> i32>(closure: &F) -> Result<i32, Option<String>> {
        Ok(closure())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Throws an exception of no language that anyone knows.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn throw() -> i32 {
        use core::ffi::{c_int, c_void};

        #[repr(C, align(16))]
        struct Exception {
            class: u64,
            cleanup: extern "C" fn(c_int, *mut c_void),
            private: [usize; 2],
        }

        extern "C" fn cleanup(_reason: c_int, exception: *mut c_void) {
            // SAFETY: it was boxed below.
            drop(unsafe { Box::from_raw(exception.cast::<Exception>()) });
        }

        // SAFETY: the standard library uses this function of the unwinder.
        unsafe extern "C-unwind" {
            fn _Unwind_RaiseException(exception: *mut c_void) -> c_int;
        }

        let exception = Exception { class: 0x7464_6200_7465_7374, cleanup, private: [0; 2] };
        // SAFETY: the exception has the layout that the unwinder expects.
        unsafe { _Unwind_RaiseException(Box::into_raw(Box::new(exception)).cast()) }
    }

    #[test]
    fn a_call_that_returns_is_not_changed() {
        assert_eq!(guarded(|| 7), Ok(7));
    }

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn what_a_call_throws_is_a_failure_and_the_next_call_works() {
        for _ in 0..3 {
            assert!(guarded(throw).unwrap_err().text().contains("it threw an exception"));
            assert_eq!(guarded(|| -1), Ok(-1));
        }
    }
}
