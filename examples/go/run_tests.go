// A harness in small, in Go: runs a workspace's test command confined, shows its output as it comes and what was refused, ends a
// command from another goroutine, and runs commands from 16 goroutines on one policy.
//
//	GO111MODULE=off go build -o run_tests run_tests.go    # PKG_CONFIG_PATH says where procage is
//	LD_LIBRARY_PATH=PREFIX/lib ./run_tests WORKSPACE
package main

/*
#cgo pkg-config: procage
#include <procage.h>
#include <stdint.h>
#include <stdlib.h>

extern int tellOutput(uintptr_t handle, int stream, char *bytes, size_t size);

// A handle is a number, which C takes for an address.
static int tell_output(void *context, enum procage_stream stream, const char *bytes, size_t size)
{
	return tellOutput((uintptr_t)context, stream, (char *)bytes, size);
}

static void tell(struct procage_command *command, uintptr_t handle)
{
	command->on_output = tell_output;
	command->context = (void *)handle;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime/cgo"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// taken makes a Go error of one of procage's, and frees that.
func taken(code C.int, problem *C.procage_error) error {
	if code == C.PROCAGE_OK {
		return nil
	}
	defer C.procage_error_free(problem)
	return errors.New(C.GoString(C.procage_error_text(problem)))
}

// arena holds what C may read during one call. Pointers to Go's memory may not lie in C's structs.
type arena []unsafe.Pointer

func (held *arena) keep(memory unsafe.Pointer) unsafe.Pointer {
	*held = append(*held, memory)
	return memory
}

func (held *arena) text(value string) *C.char {
	return (*C.char)(held.keep(unsafe.Pointer(C.CString(value))))
}

func (held *arena) words(list []string) **C.char {
	size := unsafe.Sizeof((*C.char)(nil))
	memory := held.keep(C.calloc(C.size_t(len(list)+1), C.size_t(size)))
	for i, word := range list {
		*(**C.char)(unsafe.Add(memory, uintptr(i)*size)) = held.text(word)
	}
	return (**C.char)(memory)
}

func (held *arena) free() {
	for _, memory := range *held {
		C.free(memory)
	}
}

// A Policy may be used by any goroutine; each Run has a thread of its own while it lasts.
type Policy struct {
	runtime *C.procage_runtime
	policy  *C.procage_policy
}

func Load(name, workspace string) (*Policy, error) {
	var held arena
	var problem *C.procage_error
	made := &Policy{}

	defer held.free()
	if code := C.procage_open(nil, &made.runtime, &problem); code != C.PROCAGE_OK {
		return nil, taken(code, problem)
	}
	load := C.struct_procage_load{policy: held.text(name), workspace: held.text(workspace)}
	load.size = C.size_t(unsafe.Sizeof(load))
	// Each run has its successor started ahead of its command.
	load.is_prepared = 1
	if code := C.procage_load(made.runtime, &load, &made.policy, &problem); code != C.PROCAGE_OK {
		made.Close()
		return nil, taken(code, problem)
	}
	return made, nil
}

func (policy *Policy) Close() {
	C.procage_policy_free(policy.policy)
	C.procage_close(policy.runtime)
}

// Why is what the policy has to say of an operation, as JSON.
func (policy *Policy) Why(operation, target string) (string, error) {
	var held arena
	var problem *C.procage_error
	var json *C.char

	defer held.free()
	code := C.procage_why(policy.policy, held.text(operation), held.text(target), &json, &problem)
	if code != C.PROCAGE_OK {
		return "", taken(code, problem)
	}
	defer C.procage_free(json)
	return C.GoString(json), nil
}

// A Cancel ends runs, from any goroutine.
type Cancel struct{ cancel *C.procage_cancel }

func NewCancel() (*Cancel, error) {
	var problem *C.procage_error
	made := &Cancel{}

	code := C.procage_cancel_new(&made.cancel, &problem)
	return made, taken(code, problem)
}

func (cancel *Cancel) Request() { C.procage_cancel_request(cancel.cancel, 0) }

// Close, when no run has it any more.
func (cancel *Cancel) Close() { C.procage_cancel_free(cancel.cancel) }

type Command struct {
	Argv     []string
	Input    string
	OnOutput func(stream int, bytes []byte) error
	Cancel   *Cancel
}

type Outcome struct {
	Status    int
	Cancelled bool
	Stdout    string
	Denials   string
}

//export tellOutput
func tellOutput(handle C.uintptr_t, stream C.int, bytes *C.char, size C.size_t) C.int {
	told := cgo.Handle(handle).Value().(func(int, []byte) error)
	if told(int(stream), C.GoBytes(unsafe.Pointer(bytes), C.int(size))) != nil {
		return 1
	}
	return 0
}

func (policy *Policy) Run(wanted Command) (*Outcome, error) {
	var held arena
	var problem *C.procage_error
	var outcome *C.procage_outcome
	var size C.size_t

	defer held.free()
	command := C.struct_procage_command{argv: held.words(wanted.Argv), timeout_ms: 60000}
	command.size = C.size_t(unsafe.Sizeof(command))
	if wanted.Input != "" {
		command.input = held.keep(C.CBytes([]byte(wanted.Input)))
		command.input_size = C.size_t(len(wanted.Input))
	}
	if wanted.OnOutput != nil {
		handle := cgo.NewHandle(wanted.OnOutput)
		defer handle.Delete()
		C.tell(&command, C.uintptr_t(handle))
	}
	if wanted.Cancel != nil {
		command.cancel = wanted.Cancel.cancel
	}
	if code := C.procage_run(policy.policy, &command, &outcome, &problem); code != C.PROCAGE_OK {
		return nil, taken(code, problem)
	}
	defer C.procage_outcome_free(outcome)
	out := C.procage_outcome_stdout(outcome, &size)
	return &Outcome{
		Status:    int(C.procage_outcome_status(outcome)),
		Cancelled: C.procage_outcome_cancelled(outcome) != 0,
		Stdout:    C.GoStringN(out, C.int(size)),
		Denials:   C.GoString(C.procage_outcome_denials(outcome)),
	}, nil
}

// A test command that builds something, and would leave a file outside of its workspace.
func runTests(policy *Policy) error {
	outcome, err := policy.Run(Command{
		Argv: []string{"sh", "-c", "echo building; echo kept >result; echo lost >~/outside || exit 3"},
		OnOutput: func(stream int, bytes []byte) error {
			name := map[int]string{C.PROCAGE_STDOUT: "stdout", C.PROCAGE_STDERR: "stderr"}[stream]
			_, err := fmt.Printf("%s: %s", name, bytes)
			return err
		},
	})
	if err != nil {
		return err
	}
	fmt.Printf("test: exit status %d\n%s", outcome.Status, outcome.Denials)
	answer, err := policy.Why("write", "~/outside")
	if err != nil {
		return err
	}
	said := map[bool]string{true: "refused", false: "allowed"}
	fmt.Println("outside:", said[strings.Contains(answer, `"allowed":false`)])
	return nil
}

func cancelARun(policy *Policy) error {
	cancel, err := NewCancel()
	if err != nil {
		return err
	}
	asked := make(chan struct{})
	go func() {
		time.Sleep(200 * time.Millisecond)
		cancel.Request()
		close(asked)
	}()
	outcome, err := policy.Run(Command{Argv: []string{"sleep", "60"}, Cancel: cancel})
	<-asked
	cancel.Close()
	if err != nil {
		return err
	}
	fmt.Println("sleep:", map[bool]string{true: "cancelled", false: "ended"}[outcome.Cancelled])
	return nil
}

// Each run has an input and a status of its own, and is to come back with both.
func runOnes(policy *Policy, number, each int) error {
	for i := 0; i < each; i++ {
		input := fmt.Sprintf("%d.%d", number, i)
		line := fmt.Sprintf("cat; exit %d", number)
		outcome, err := policy.Run(Command{Argv: []string{"/bin/sh", "-c", line}, Input: input})
		if err != nil {
			return err
		}
		if outcome.Status != number || outcome.Stdout != input {
			return fmt.Errorf("goroutine %d, run %d: status %d", number, i, outcome.Status)
		}
	}
	return nil
}

func runInGoroutines(policy *Policy, count, each int) error {
	var all sync.WaitGroup
	problems := make(chan error, count)

	for number := 0; number < count; number++ {
		all.Add(1)
		go func(number int) {
			defer all.Done()
			problems <- runOnes(policy, number, each)
		}(number)
	}
	all.Wait()
	close(problems)
	for err := range problems {
		if err != nil {
			return err
		}
	}
	fmt.Printf("%d goroutines: %d runs, all right\n", count, count*each)
	return nil
}

func work(workspace string) error {
	policy, err := Load("speccoder", workspace)
	if err != nil {
		return err
	}
	defer policy.Close()
	if err := runTests(policy); err != nil {
		return err
	}
	if err := cancelARun(policy); err != nil {
		return err
	}
	return runInGoroutines(policy, 16, 4)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: run_tests /absolute/workspace")
		os.Exit(2)
	}
	if err := work(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "run_tests:", err)
		os.Exit(1)
	}
}
