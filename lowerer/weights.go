package lowerer

import (
	"errors"
	"io"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/pt2"
	"github.com/rules-pte/rules_pte/lowerer/internal/scratch"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// residentLimit is about how many bytes of mapped weights may be in memory: when more were used, all are let go.
const residentLimit = 16 << 20

// weightFiles reads weights from mapped models, and keeps few of their pages in memory.
type weightFiles struct {
	paths    map[string]string // by model key
	archives map[string]*pt2.Archive
	room     scratch.Scratch // what is computed from them
	used     int             // bytes since the last release
}

func openWeights(paths map[string]string) *weightFiles {
	return &weightFiles{paths: paths, archives: map[string]*pt2.Archive{}}
}

func (f *weightFiles) close() error {
	errs := []error{f.room.Close()}
	for _, a := range f.archives {
		errs = append(errs, a.Close())
	}
	return errors.Join(errs...)
}

// read gives the bytes of a weight, which are valid until close.
func (f *weightFiles) read(k *exir.Weight, m tensor.Meta) ([]byte, error) {
	a := f.archives[k.Model]
	if a == nil {
		var err error
		if a, err = pt2.Open(f.paths[k.Model]); err != nil {
			return nil, err
		}
		a.Alloc = f.room.Alloc
		f.archives[k.Model] = a
	}
	f.use(m.Nbytes())
	return a.ReadWeight(k, m)
}

// use notes that n bytes of weights come to memory.
func (f *weightFiles) use(n int) {
	if f.used += n; f.used <= residentLimit {
		return
	}
	f.used = 0
	f.room.Release()
	for _, a := range f.archives {
		a.Release()
	}
}

// writer writes what may be weights to w.
func (f *weightFiles) writer(w io.Writer) io.Writer { return &weightWriter{w, f} }

type weightWriter struct {
	w     io.Writer
	files *weightFiles
}

func (w *weightWriter) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := w.w.Write(b[done:min(done+residentLimit/4, len(b))])
		if done += n; err != nil {
			return done, err
		}
		w.files.use(n)
	}
	return done, nil
}
