package pte

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestArchives lowers what older versions of torch exported, and holds our runtime to the results that they gave. The
// packs are those of tools/oracle/archives.py; each has a folder of the model zoo's form for every program.
func TestArchives(t *testing.T) {
	packs, err := filepath.Glob("testdata/archives/torch-*.zip")
	if err != nil || len(packs) < 5 {
		t.Fatalf("packs %v, %v, want one for each of torch 2.8 to 2.12", packs, err)
	}
	for _, pack := range packs {
		checkPack(t, pack, 12)
	}
}

// TestForms is the same for programs of rare forms, by tools/oracle/forms.py.
func TestForms(t *testing.T) { checkPack(t, "testdata/archives/forms.zip", 18) }

// checkPack lowers and runs every program of a pack, of which there are at least as many as it should have.
func checkPack(t *testing.T, pack string, programs int) {
	t.Helper()
	dir := t.TempDir()
	unpack(t, pack, dir)
	cases, err := filepath.Glob(dir + "/*/case.json")
	if err != nil || len(cases) < programs {
		t.Fatalf("%s: cases %v, %v, want %d", pack, cases, err, programs)
	}
	for _, c := range cases {
		folder := filepath.Dir(c)
		t.Run(filepath.Base(pack)+"/"+filepath.Base(folder), func(t *testing.T) { lowerAndCheck(t, folder) })
	}
}

func unpack(t *testing.T, pack, dir string) {
	t.Helper()
	z, err := zip.OpenReader(pack)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
}

// lowerAndCheck lowers the methods in folder as one program, and runs its cases.
func lowerAndCheck(t *testing.T, folder string) {
	models, err := filepath.Glob(folder + "/*.pt2")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "out.pte")
	args := []string{"lower", "-o", program}
	for _, m := range models {
		name := strings.TrimSuffix(filepath.Base(m), ".pt2")
		if name == "model" {
			name = "forward"
		}
		args = append(args, name+"="+m)
	}
	for _, args := range [][]string{args, {"run", program, "--case", filepath.Join(folder, "case.json"), "--check"}} {
		var out bytes.Buffer
		if code := run(args, &out, &out); code != 0 {
			t.Fatalf("pte %s: exit code %d\n%s", args[0], code, &out)
		}
	}
}
