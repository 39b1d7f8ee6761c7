package weightcache

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/rt"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/etdump"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

//bazel:data //backends/xnnpack/rt:testdata //runtime/executor:testdata

// programs are the programs with packed weights, by name.
func programs(t *testing.T) map[string][]byte {
	t.Helper()
	list := map[string][]byte{}
	for _, pattern := range []string{"../testdata/*/portable.pte", "../../../backends/xnnpack/rt/testdata/*/xnnpack.pte"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no programs: %v", err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			list[filepath.Base(filepath.Dir(f))+"/"+filepath.Base(f)] = b
		}
	}
	return list
}

// run loads a program and gives the outputs of its methods as text, and what the cache of path, unless that is "", said.
func run(t *testing.T, file []byte, path string) (outputs, said string) {
	t.Helper()
	opts := executor.LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{rt.New()}, Threads: 2}
	if path != "" {
		opts.WeightCache = File(path, func(err error) { said += err.Error() + "\n" })
	}
	p, err := executor.Load(file, opts)
	if err != nil {
		return "load: " + err.Error(), said
	}
	defer p.Close()
	for range 2 {
		inst, err := p.NewInstance()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Methods() {
			m := inst.Method(name)
			outs, err := m.Run(context.Background(), ramps(m.Info().Inputs))
			if err != nil {
				outputs += name + ": " + err.Error() + "\n"
			}
			for i := range outs {
				outputs += name + ": " + outs[i].String()
				if outs[i].Kind == executor.Tensor {
					outputs += " " + sums(outs[i].Tensor.Data)
				}
			}
		}
		inst.Close()
	}
	return outputs, said
}

// load loads a program and makes an instance, with which its weights are packed and kept.
func load(t *testing.T, file []byte, opts executor.LoadOptions) {
	t.Helper()
	p, err := executor.Load(file, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	inst, err := p.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	inst.Close()
}

// ramps are inputs of the largest sizes.
func ramps(infos []executor.ValueInfo) []executor.Value {
	values := make([]executor.Value, len(infos))
	for i, info := range infos {
		values[i].Kind = info.Kind
		if info.Kind != executor.Tensor {
			continue
		}
		x := &tensor.Tensor{Meta: info.Meta, Data: make([]byte, info.Meta.Nbytes())}
		if x.DType == tensor.Float {
			for j, l := 0, tensor.Elements[float32](x); j < len(l); j++ {
				l[j] = float32(j%13)/6 - 1
			}
		}
		values[i].Tensor = x
	}
	return values
}

// read parses a file, which may not be there.
func read(t *testing.T, path string) []piece {
	t.Helper()
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	_, list, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFile loads programs without a file, with one that is written, and with one that is there.
func TestFile(t *testing.T) {
	packed := 0
	for name, file := range programs(t) {
		path := filepath.Join(t.TempDir(), "weights")
		want, _ := run(t, file, "")
		var before os.FileInfo
		for i := range 3 {
			if got, said := run(t, file, path); got != want || said != "" {
				t.Errorf("%s: load %d gives %s, want %s; the cache says %q", name, i, got, want, said)
			}
			info, err := os.Stat(path)
			if i > 0 && err == nil && !os.SameFile(before, info) {
				t.Errorf("%s: load %d wrote the file anew", name, i)
			}
			before = info
		}
		packed += len(read(t, path))
		if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
			t.Errorf("%s: files are left: %v", name, left)
		}
	}
	if packed < 20 {
		t.Errorf("%d weights were packed, want more", packed)
	}
}

// TestOther loads a program with the file of another one, and of one whose weights alone differ.
func TestOther(t *testing.T) {
	all := programs(t)
	images := all["images/portable.pte"]
	path := filepath.Join(t.TempDir(), "weights")
	run(t, images, path)
	edited := bytes.Clone(images)
	p, err := executor.Load(edited, executor.LoadOptions{Kernels: op.Kernels})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.File().ConstantBuffers { // slices of edited
		for i := range c {
			c[i] ^= 1
		}
	}
	p.Close()
	before, _ := run(t, images, "")
	if after, _ := run(t, edited, ""); before == after {
		t.Fatal("other weights have the same results")
	}
	for _, file := range [][]byte{edited, all["quantized/portable.pte"], images} {
		want, _ := run(t, file, "")
		got, said := run(t, file, path)
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if !strings.HasPrefix(said, "read weight cache "+path+": it is of another program") {
			t.Errorf("the cache says %q", said)
		}
		if got, said := run(t, file, path); got != want || said != "" {
			t.Errorf("after that: got %s, want %s; the cache says %q", got, want, said)
		}
	}
}

// TestDamaged loads a program with files that are not as they were written.
func TestDamaged(t *testing.T) {
	file := programs(t)["images/portable.pte"]
	path := filepath.Join(t.TempDir(), "weights")
	want, _ := run(t, file, path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	machine, list, err := parse(good)
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(i int) []byte {
		b := bytes.Clone(good)
		b[i] ^= 4
		return b
	}
	of := func(machine string, list []piece) []byte {
		b := head(machine, list)
		for _, p := range list {
			b = append(append(b, p.data...), padding(len(p.data))...)
		}
		return b
	}
	if !bytes.Equal(of(machine, list), good) {
		t.Error("a file that was read is written in another way")
	}
	const damaged, other = "it is damaged; weights are packed anew", "it is of another program, version or instruction set; weights are packed anew"
	for _, test := range []struct {
		name string
		b    []byte
		want string
	}{
		{"size of the head", flipped(8), damaged},
		{"large head", flipped(15), damaged},
		{"sum", flipped(16), damaged},
		{"zero", flipped(20), damaged},
		{"machine", flipped(fixed), damaged},
		{"count", flipped(countAt), damaged},
		{"key", flipped(fixed + len(machine) + perRow), damaged},
		{"no weights", good[:fixed], damaged},
		{"half", good[:len(good)/2/align*align], damaged},
		{"last bytes", good[:len(good)-1], damaged},
		{"more bytes", append(bytes.Clone(good), 0), damaged},
		{"other tier", of("x"+machine, list), other},
		{"fewer weights", of(machine, list[:len(list)-1]), other},
		{"other order", of(machine, append([]piece{{"other", nil}}, list...)), other},
		{"other size", of(machine, append([]piece{{list[0].key, list[0].data[1:]}}, list[1:]...)), other},
	} {
		if err := os.WriteFile(path, test.b, 0o666); err != nil {
			t.Fatal(err)
		}
		got, said := run(t, file, path)
		if got != want || said != "read weight cache "+path+": "+test.want+"\n" {
			t.Errorf("%s: got %s, want %s; the cache says %q, want %q", test.name, got, want, said, test.want)
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, good) {
			t.Errorf("%s: the file was not replaced: %v", test.name, err)
		}
	}
}

// TestFails has no place for a file.
func TestFails(t *testing.T) {
	file := programs(t)["images/portable.pte"]
	want, _ := run(t, file, "")
	dir := t.TempDir()
	for _, test := range []struct{ path, want string }{
		{filepath.Join(dir, "none", "weights"), "write weight cache " + filepath.Join(dir, "none", "weights") + ": no such file or directory"},
		{dir, "read weight cache " + dir + ": "},
	} {
		got, said := run(t, file, test.path)
		if got != want || !strings.HasPrefix(said, test.want) {
			t.Errorf("%s: got %s, want %s; the cache says %q, want %q", test.path, got, want, said, test.want)
		}
	}
	if left, _ := filepath.Glob(dir + "*"); len(left) > 1 {
		t.Errorf("files are left: %v", left)
	}
}

// TestOtherFiles leaves files alone that are no weight caches, and replaces an empty one.
func TestOtherFiles(t *testing.T) {
	file, path := programs(t)["images/portable.pte"], filepath.Join(t.TempDir(), "weights")
	want, _ := run(t, file, "")
	for _, text := range []string{"x", strings.Repeat("text", 100), "PK\x03\x04"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, said := run(t, file, path)
		if got != want || said != "read weight cache "+path+": it is no weight cache and stays as it is; choose another path\n" {
			t.Errorf("%q: got %s, want %s; the cache says %q", text, got, want, said)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q was replaced (%v)", text, err)
		}
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, said := run(t, file, path); got != want || said != "" {
		t.Errorf("an empty file: got %s, want %s; the cache says %q", got, want, said)
	}
	if len(read(t, path)) == 0 {
		t.Error("an empty file was not replaced")
	}
}

// TestNobodyIsTold has a damaged file and no function for what is wrong with it.
func TestNobodyIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(path, []byte(magic+"damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	load(t, programs(t)["images/portable.pte"], executor.LoadOptions{Kernels: op.Kernels, WeightCache: File(path, nil)})
	if len(read(t, path)) == 0 {
		t.Error("the file was not replaced")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the file's mode is %v (%v), want one that others read", info.Mode(), err)
	}
}

// TestTraced loads for intermediate values, which packs other constants, without the file.
func TestTraced(t *testing.T) {
	file, path := programs(t)["images/portable.pte"], filepath.Join(t.TempDir(), "weights")
	run(t, file, path)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	load(t, file, executor.LoadOptions{Kernels: op.Kernels, Tracer: etdump.New(etdump.IntermediateOutputs),
		WeightCache: File(path, func(err error) { t.Error(err) })})
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was replaced (%v)", err)
	}
}

// TestLayouts holds packed bytes against those of the same version. Where there are none for this machine, nothing is held;
// PTE_UPDATE=1 writes them, and PTE_ISA names another instruction set.
func TestLayouts(t *testing.T) {
	const golden = "testdata/layouts.txt"
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	here := strconv.Itoa(layouts) + " " + runtime.GOARCH + " " + kernel.Best().String() + " "
	var others, rows []string
	known := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, here) {
			name, sum, _ := strings.Cut(strings.TrimSpace(line[len(here):]), " ")
			known[name] = sum
		} else {
			others = append(others, line)
		}
	}
	for name, file := range programs(t) {
		path := filepath.Join(t.TempDir(), "weights")
		run(t, file, path)
		list := read(t, path)
		if len(list) == 0 {
			continue
		}
		var all []byte
		for _, p := range list {
			all = append(all, p.data...)
		}
		sum := sums(all)
		if want := known[name]; want != "" && want != sum {
			t.Errorf("%s is packed to other bytes than before: raise layouts in weightcache.go, then PTE_UPDATE=1 go test -run TestLayouts", name)
		}
		rows = append(rows, here+name+" "+sum+"\n")
	}
	if os.Getenv("PTE_UPDATE") != "" {
		writeLayouts(t, golden, append(others, rows...))
	}
}
