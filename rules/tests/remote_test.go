package tests

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// namespace is where servers and Bazel run: with only the loopback device, if the machine lets us make such a thing.
type namespace struct{ prefix []string }

func newNamespace(t *testing.T) *namespace {
	t.Helper()
	if os.Getenv("PTE_HOST") == "" {
		t.Skip("PTE_HOST is not set")
	}
	if out, err := exec.Command("unshare", "-n", "true").CombinedOutput(); err != nil {
		t.Logf("no network namespace, the machine's own network is used: %v %s", err, out)
		return &namespace{}
	}
	holder := exec.Command("unshare", "-n", "sleep", "3600")
	start(t, holder)
	n := &namespace{[]string{"nsenter", "-n", "-t", fmt.Sprint(holder.Process.Pid)}}
	own, _ := os.Readlink("/proc/self/ns/net")
	await(t, "the namespace", func() bool {
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", holder.Process.Pid))
		return err == nil && its != own
	})
	if out, err := n.command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("start loopback: %v\n%s", err, out)
	}
	return n
}

func (n *namespace) command(args ...string) *exec.Cmd {
	args = append(append([]string{}, n.prefix...), args...)
	return exec.Command(args[0], args[1:]...)
}

// start starts a process that ends with the test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come up", what)
		}
	}
}

// listens waits until a server in the namespace listens.
func (n *namespace) listens(t *testing.T, port int) {
	t.Helper()
	want := fmt.Sprintf(":%04X ", port)
	await(t, fmt.Sprintf("the server on port %d", port), func() bool {
		out, _ := n.command("cat", "/proc/net/tcp", "/proc/net/tcp6").Output()
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[1]+" ", want) && f[3] == "0A" {
				return true
			}
		}
		return false
	})
}

// freePort is a port of the machine that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

const nginxConf = `daemon off;
pid DIR/pid;
error_log DIR/error.log;
events { worker_connections 1024; }
http {
	access_log off;
	client_body_temp_path DIR/body;
	server {
		listen 127.0.0.1:PORT;
		root DIR/data;
		client_max_body_size 1g;
		keepalive_requests 1000000;
		dav_methods PUT;
		create_full_put_path on;
		location / { }
	}
}
`

// nginx starts an HTTP cache and gives its folder and address.
func (n *namespace) nginx(t *testing.T) (data, address string) {
	t.Helper()
	dir, port := t.TempDir(), freePort(t)
	data = filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, data, filepath.Dir(dir)} { // its workers are another user
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	conf := filepath.Join(dir, "conf")
	text := strings.NewReplacer("DIR", dir, "PORT", fmt.Sprint(port)).Replace(nginxConf)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	start(t, n.command("nginx", "-c", conf))
	n.listens(t, port)
	return data, fmt.Sprintf("http://127.0.0.1:%d", port)
}

// remoteWorkerSource is where Debian's package bazel-bootstrap-source has Bazel's own server for tests.
const remoteWorkerSource = "/usr/src/bazel-bootstrap/src/tools/remote/src/main/java"

const bazelJar = "/usr/share/bazel/A-server.jar"

// remoteWorker compiles and starts a server that executes actions, and gives the folder of its store and its address.
func (n *namespace) remoteWorker(t *testing.T) (cas, address string) {
	t.Helper()
	dir, port := t.TempDir(), freePort(t)
	sources := []string{"-nowarn", "-d", filepath.Join(dir, "classes"), "-cp", bazelJar}
	err := filepath.WalkDir(remoteWorkerSource, func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".java") {
			sources = append(sources, name)
		}
		return err
	})
	if err != nil {
		t.Fatalf("find RemoteWorker, of Debian's package bazel-bootstrap-source: %v", err)
	}
	if out, err := exec.Command("javac", sources...).CombinedOutput(); err != nil {
		t.Fatalf("compile RemoteWorker: %v\n%s", err, out)
	}
	cas = filepath.Join(dir, "cas")
	for _, d := range []string{cas, filepath.Join(dir, "work")} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	start(t, n.command("java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
		"-Djava.library.path=/usr/share/bazel", "-cp", filepath.Join(dir, "classes")+":"+bazelJar,
		"com.google.devtools.build.remote.worker.RemoteWorker", "--work_path="+filepath.Join(dir, "work"), "--cas_path="+cas,
		fmt.Sprintf("--listen_port=%d", port), "--jobs=2"))
	n.listens(t, port)
	return cas, fmt.Sprintf("grpc://127.0.0.1:%d", port)
}

// another is the same workspace with an output base of its own, whose Bazel runs in the namespace.
func (w *workspace) another(n *namespace) *workspace {
	w.t.Helper()
	x := *w
	x.user, x.remote, x.prefix = w.t.TempDir(), true, n.prefix
	x.t.Cleanup(func() { x.bazel("shutdown"); exec.Command("chmod", "-R", "u+w", x.user).Run() })
	return &x
}

// remoteModels are the programs of the workspace for remote builds, and moreModels those of its target "more".
const remoteModels, moreModels = 3, 20

// remoteWorkspace has models with the same graph and other weights.
func remoteWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := newWorkspace(t, "remote")
	for i := range remoteModels {
		w.modelNamed(fmt.Sprintf("net%d.pt2", i), uint32(i+1))
	}
	for i := range moreModels {
		w.modelNamed(fmt.Sprintf("more%d.pt2", i), uint32(remoteModels+i+1))
	}
	return w
}

// stored are the bytes of the files in a folder.
func stored(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			bytes += fileSize(t, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// TestRemote builds models with a remote cache and with remote execution, each twice, from two output bases: the first
// builds everything, remotely where that can be, the second gets everything from the cache, and all have the same bytes. It
// prints what docs/remote.md says of costs.
func TestRemote(t *testing.T) {
	n := newNamespace(t)
	w := remoteWorkspace(t)
	var want string
	for _, c := range []struct {
		name, runner string
		server       func(*testing.T) (dir, address string)
		flag         string
		more         []string
	}{
		{"HTTP cache", "linux-sandbox", n.nginx, "--remote_cache=", nil},
		{"execution", "remote", n.remoteWorker, "--remote_executor=", []string{"--spawn_strategy=remote"}},
	} {
		dir, address := c.server(t)
		args := append([]string{c.flag + address}, c.more...)
		for i, cached := range []bool{false, true} {
			x, name := w.another(n), fmt.Sprintf("%s, output base %d", c.name, i+1)
			spawns := x.measured(name, dir, append(args, "//:all")...)
			ranBy(t, name, spawns, c.runner, cached)
			if len(spawns) != 5*remoteModels {
				t.Errorf("%s: %d actions, want 5 for each of %d models", name, len(spawns), remoteModels)
			}
			more := x.measured(fmt.Sprintf("%s, %d models more", name, moreModels), dir, append(args, "//:more")...)
			ranBy(t, name, more, c.runner, cached)
			got, err := os.ReadFile(x.bin("net0.pte"))
			if err != nil {
				t.Fatal(err)
			}
			if want == "" {
				want = string(got)
			}
			if string(got) != want {
				t.Errorf("%s: other bytes", name)
			}
		}
	}
}

// measured builds, prints what that cost, and gives the actions. dir is the folder of the server's store.
func (w *workspace) measured(name, dir string, args ...string) []spawn {
	w.t.Helper()
	before, began := stored(w.t, dir), time.Now()
	spawns := w.spawns(args...)
	w.t.Logf("%s: %d actions, %.1f s, %d bytes more in the store", name, len(spawns), time.Since(began).Seconds(), stored(w.t, dir)-before)
	return spawns
}

// ranBy checks that all actions ran where runner says, or came from the cache.
func ranBy(t *testing.T, name string, spawns []spawn, runner string, cached bool) {
	t.Helper()
	for _, s := range spawns {
		if s.RemoteCacheHit != cached || !cached && s.Runner != runner {
			t.Errorf("%s: %s by %q, from the cache: %v", name, s.Mnemonic, s.Runner, s.RemoteCacheHit)
		}
	}
}

// TestRemoteGo builds a runtime with remote execution from two output bases: the builder, the compiled packages and the binary are
// made remotely, with the SDK that Bazel fetches, and then all come from the cache. The binaries are the same, and run here.
func TestRemoteGo(t *testing.T) {
	n := newNamespace(t)
	w := remoteWorkspace(t)
	w.env = []string{fetched, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "GOPROXY=" + strings.TrimSpace(goRun(t, "env", "GOPROXY"))}
	archives := "--repository_cache=" + t.TempDir() // what there is no network for in the namespace
	if out, err := w.another(&namespace{}).bazel("build", "--nobuild", archives, "//:net0"); err != nil {
		t.Fatalf("fetch: %v\n%s", err, out)
	}
	dir, address := n.remoteWorker(t)
	var binaries []string
	for i, cached := range []bool{false, true} {
		x, name := w.another(n), fmt.Sprintf("output base %d", i+1)
		spawns := x.measured(name, dir, archives, "--remote_executor="+address, "--spawn_strategy=remote", "//:net0")
		ranBy(t, name, spawns, "remote", cached)
		for _, kind := range []string{"GoBuilder", "GoCompile", "PteRuntime", "GoLink"} {
			if !slices.ContainsFunc(spawns, func(s spawn) bool { return s.Mnemonic == kind }) {
				t.Errorf("%s: no %s", name, kind)
			}
		}
		binaries = append(binaries, string(x.read("bazel-bin/net0")))
		if out, err := exec.Command(x.bin("net0"), "-calls=1").CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if binaries[0] != binaries[1] {
		t.Error("the binaries differ")
	}
}
