//go:build unix

package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

func hello(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }

// TestWriteKeepsLinks writes the file that a link names.
func TestWriteKeepsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "sub", "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("old"), 0o600), os.Symlink(file, link), Write(link, hello)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "hello" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	if to, err := os.Readlink(link); err != nil || to != file {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	empty, loop := filepath.Join(dir, "empty"), filepath.Join(dir, "loop")
	if err := errors.Join(os.Symlink("sub/made", empty), os.Symlink(loop, loop), Write(empty, hello)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "sub", "made")); err != nil || string(b) != "hello" {
		t.Errorf("the file of a link to nothing holds %q, %v", b, err)
	}
	if err, want := Write(loop, hello), loop+": too many levels of symbolic links"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err, want := Apart(nil, []string{file, link}), link+": is the file of two outputs"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestWriteToPipe writes to what is no regular file, and leaves it one.
func TestWriteToPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(path)
		got <- string(b)
	}()
	if err := Write(path, hello); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "hello" {
		t.Errorf("got %q", s)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", info, err)
	}
	if want, err := "/dev/full: no space left on device", Write("/dev/full", hello); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestWriteToOwn writes to the process's output in its turn, where that is a file, too.
func TestWriteToOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	saved := os.Stdout
	defer func() { os.Stdout = saved }()
	os.Stdout = f
	fmt.Print("before ")
	err = Write(fmt.Sprintf("/dev/fd/%d", f.Fd()), hello)
	fmt.Print(" after")
	if b, e := os.ReadFile(path); err != nil || e != nil || string(b) != "before hello after" {
		t.Errorf("the file holds %q, %v, %v", b, err, e)
	}
}

// TestWriteInterrupted leaves no temporary file of two where a signal ends the process, as it does without them: this test, run once more.
func TestWriteInterrupted(t *testing.T) {
	if dir := os.Getenv("PTE_OUTPUT_WRITES"); dir != "" {
		t.Fatal(Write(filepath.Join(dir, "a"), func(io.Writer) error {
			return Write(filepath.Join(dir, "b"), func(w io.Writer) error {
				fmt.Println("writes")
				for {
					if _, err := w.Write(make([]byte, 1<<10)); err != nil {
						return err
					}
				}
			})
		}))
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as nohup has SIGHUP ignored, also by this test run once more
			interrupt(t, s)
		}
	}
}

func interrupt(t *testing.T, s syscall.Signal) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=TestWriteInterrupted$")
	cmd.Env = append(os.Environ(), "PTE_OUTPUT_WRITES="+dir)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); line != "writes\n" {
		t.Fatalf("the process says %q, %v", line, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Fatalf("the process has %v, %v", entries, err)
	}
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(out)
	err = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != s || len(rest) > 0 {
		t.Errorf("%v: the process ends with %v and says %q", s, err, rest)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v: left behind %v, %v", s, entries, err)
	}
}
