//go:build unix

package weightcache

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSpecialFiles leaves pipes, devices and folders alone, and does not wait for them.
func TestSpecialFiles(t *testing.T) {
	file, pipe := programs(t)["images/portable.pte"], filepath.Join(t.TempDir(), "pipe")
	want, _ := run(t, file, "")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := pipe + "link"
	if err := os.Symlink("none", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, "/dev/full", t.TempDir()} {
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		got, said := run(t, file, path)
		if got != want || said != "read weight cache "+path+": it is no weight cache and stays as it is; choose another path\n" {
			t.Errorf("%s: got %s, want %s; the cache says %q", path, got, want, said)
		}
		if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s was replaced (%v)", path, err)
		}
	}
}

// TestLink writes the file that a link names.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "weights"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	run(t, programs(t)["images/portable.pte"], link)
	if len(read(t, path)) == 0 {
		t.Error("the file was not written")
	}
	if to, err := os.Readlink(link); err != nil || to != path {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}
