package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

// build is one run of the go command in a module made for it.
type build struct {
	goroot, vendor, gomod, gosum string
	goos, goarch, goarm          string
	layers, srcs                 list
	out, layerOut                string
	tags                         list
	buildmode, cc                string
	optional                     list   // owner|path-in-module=file
	selected, unused             string // files: the owners that are linked, and the names of the files of others

	dir    string       // the temporary folder; the module lies in dir/m, the cache in dir/c
	said   bytes.Buffer // what go printed
	stderr io.Writer    // where that goes
}

// flags declares the flags that all build steps have.
func (b *build) flags(name string) *flag.FlagSet {
	b.stderr = os.Stderr
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.StringVar(&b.goroot, "goroot", "", "folder of the Go SDK")
	f.StringVar(&b.vendor, "vendor", "", "vendor folder of the module")
	f.StringVar(&b.gomod, "gomod", "", "go.mod")
	f.StringVar(&b.gosum, "gosum", "", "go.sum")
	f.StringVar(&b.goos, "goos", "", "target operating system")
	f.StringVar(&b.goarch, "goarch", "", "target architecture")
	f.StringVar(&b.goarm, "goarm", "", "version of the arm architecture")
	f.Var(&b.layers, "layer", "layer of the build cache to read")
	f.Var(&b.srcs, "src", "path-in-module=file")
	f.StringVar(&b.out, "out", "", "file to link")
	f.Var(&b.tags, "tags", "build tag")
	f.StringVar(&b.buildmode, "buildmode", "", "what to link: a command without it")
	f.StringVar(&b.cc, "cc", "", "C compiler for cgo, \"host\" for the machine's; without it there is no cgo")
	f.Var(&b.optional, "optional", "owner|path-in-module=file: a source for binaries with the package owner")
	f.StringVar(&b.selected, "selected", "", "file that lists the packages of the linked backends: the owners whose optional sources are needed")
	f.StringVar(&b.unused, "unused_out", "", "file for the names of the optional sources that are not")
	f.StringVar(&b.layerOut, "layer_out", "", "layer of the build cache to write")
	return f
}

// runCompile compiles packages into a layer.
func runCompile(args []string) error {
	b := new(build)
	f := b.flags("compile")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return writeLayer(b.layerOut, nil, nil)
	}
	return b.do(append([]string{"build"}, f.Args()...))
}

// runLink links a command.
func runLink(args []string) error {
	b := new(build)
	f := b.flags("link")
	if err := f.Parse(args); err != nil {
		return err
	}
	return b.do(append([]string{"build", "-ldflags=-buildid= -s -w"}, f.Args()...))
}

// runTest links the test of a package.
func runTest(args []string) error {
	b := new(build)
	f := b.flags("test")
	if err := f.Parse(args); err != nil {
		return err
	}
	return b.do(append([]string{"test", "-c", "-vet=off", "-ldflags=-buildid="}, f.Args()...))
}

// do stages the module, runs go, and packs what it added to the cache. What go printed is written when the temporary folder is
// gone: Bazel keeps standard error on the same disk, where a full one would swallow the very message that it is full.
func (b *build) do(args []string) (err error) {
	if b.dir, err = os.MkdirTemp("", "pte-go-"); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, removeAll(b.dir))
		_, _ = b.said.WriteTo(b.stderr)
	}()
	if err := b.stage(); err != nil {
		return fmt.Errorf("stage module: %w", err)
	}
	if err := b.run(args); err != nil {
		return err
	}
	if b.layerOut == "" {
		return nil
	}
	return b.pack()
}

func (b *build) path(elem ...string) string {
	return filepath.Join(append([]string{b.dir}, elem...)...)
}

// stage copies the sources: go:embed refuses symbolic links, which is what a sandbox has.
func (b *build) stage() error {
	for _, name := range []string{"m", "c", "home", "out"} {
		if err := os.Mkdir(b.path(name), 0o777); err != nil {
			return err
		}
	}
	if err := b.choose(); err != nil {
		return err
	}
	if err := b.stageModules(); err != nil {
		return err
	}
	for _, src := range b.srcs {
		to, from, ok := strings.Cut(src, "=")
		if !ok {
			return fmt.Errorf("source %q: want path=file", src)
		}
		if err := copyFile(b.path("m", filepath.FromSlash(to)), from); err != nil {
			return err
		}
	}
	return b.stageLayers()
}

func (b *build) stageLayers() error {
	var names strings.Builder
	for _, layer := range b.layers {
		abs, err := filepath.Abs(layer)
		if err != nil {
			return err
		}
		names.WriteString(abs + "\n")
	}
	return os.WriteFile(b.path("layers"), []byte(names.String()), 0o666)
}

// runCopy copies a file.
func runCopy(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("copy: want from and to, got %d arguments", len(args))
	}
	return copyFile(args[1], args[0])
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}

// run runs go in the module with an environment that holds nothing of the machine's.
func (b *build) run(args []string) error {
	goroot, err := filepath.Abs(b.goroot)
	if err != nil {
		return err
	}
	full := []string{args[0], "-trimpath", "-mod=vendor", "-buildvcs=false", "-tags=" + b.tags.String()}
	if b.buildmode != "" {
		full = append(full, "-buildmode="+b.buildmode)
	}
	if b.out != "" {
		full = append(full, "-o", b.linked())
	}
	cmd := exec.Command(filepath.Join(goroot, "bin", "go"), append(full, args[1:]...)...)
	cmd.Dir = b.path("m")
	if cmd.Env, err = b.environ(goroot); err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = &b.said, &b.said
	cmd.WaitDelay = time.Second // for what a compiler leaves behind that holds on to them
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("go %s %s: %w", args[0], args[len(args)-1], err)
	}
	if b.out == "" {
		return nil
	}
	return moveFile(b.out, b.linked())
}

// linked is where go links the output: beside a library it writes a header, which no action declares.
func (b *build) linked() string { return b.path("out", filepath.Base(b.out)) }

// moveFile moves a file, also between file systems.
func moveFile(to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.Rename(from, to); err == nil {
		return nil
	}
	if err := copyFile(to, from); err != nil {
		return err
	}
	return os.Chmod(to, info.Mode())
}

func (b *build) environ(goroot string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := []string{
		"GOROOT=" + goroot, "GOOS=" + b.goos, "GOARCH=" + b.goarch,
		"GOPATH=" + b.path("home", "go"), "HOME=" + b.path("home"), "GOCACHE=" + b.path("home", "cache"),
		"GOCACHEPROG=" + fmt.Sprintf("%s cacheprog -dir %s -layers %s", quoted(self), quoted(b.path("c")), quoted(b.path("layers"))),
		"GOENV=off", "GOTELEMETRY=off", "GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS=", "GOWORK=off", "GO111MODULE=on",
		"TMPDIR=" + b.dir, "PATH=" + os.Getenv("PATH"),
	}
	if b.goarm != "" {
		env = append(env, "GOARM="+b.goarm)
	}
	return b.addCgo(env)
}

// quoted is a word of a command as the go command splits it: in quotes if it holds spaces, without escapes.
func quoted(word string) string {
	switch {
	case !strings.ContainsAny(word, " \t\n\r'\""):
		return word
	case strings.Contains(word, "'"):
		return `"` + word + `"`
	}
	return "'" + word + "'"
}

// pack writes the new entries of the cache as a layer.
func (b *build) pack() error {
	f, err := os.Open(b.path("c", "entries"))
	if err != nil {
		return fmt.Errorf("read new cache entries: %w", err)
	}
	defer f.Close()
	entries, _, err := readIndex(bufio.NewReader(f))
	if err != nil {
		return fmt.Errorf("read new cache entries: %w", err)
	}
	return writeLayer(b.layerOut, entries, func(output string) string { return b.path("c", output) })
}

// removeAll also removes folders that are not writable.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o777)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
