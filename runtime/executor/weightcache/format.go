package weightcache

import (
	"errors"
	"hash/crc32"

	flatbuffers "github.com/google/flatbuffers/go"
)

// A file has a head, and then the weights, each at a multiple of align, where the file ends, too. All numbers are little-endian:
//
//	0   magic
//	8   the size of the head, up to the first weight
//	16  the CRC-32 of the head from 24 on
//	20  0
//	24  the size of the machine, and the number of weights
//	40  the machine that they are packed for
//	    of each weight the sizes of its data and of its key, and its key
const (
	magic   = "PTEWGHT1"
	fixed   = 40
	perRow  = 16 // and the key
	align   = 64
	summed  = 24 // where the summed bytes begin
	sumAt   = 16
	countAt = 32
)

// piece is packed weights.
type piece struct {
	key  string
	data []byte
}

// head is what comes before the weights.
func head(machine string, list []piece) []byte {
	b := make([]byte, fixed)
	copy(b, magic)
	flatbuffers.WriteUint64(b[summed:], uint64(len(machine)))
	flatbuffers.WriteUint64(b[countAt:], uint64(len(list)))
	b = append(b, machine...)
	for i := range list {
		var row [perRow]byte
		flatbuffers.WriteUint64(row[:], uint64(len(list[i].data)))
		flatbuffers.WriteUint64(row[8:], uint64(len(list[i].key)))
		b = append(append(b, row[:]...), list[i].key...)
	}
	b = append(b, padding(len(b))...)
	flatbuffers.WriteUint64(b[8:], uint64(len(b)))
	flatbuffers.WriteUint32(b[sumAt:], crc32.ChecksumIEEE(b[summed:]))
	return b
}

// padding is what stands behind n bytes.
func padding(n int) []byte { return make([]byte, -n&(align-1)) }

var (
	errForeign = errors.New("it is no weight cache and stays as it is; choose another path")
	errDamaged = errors.New("it is damaged; weights are packed anew")
)

// Is reports whether file begins as such files do.
func Is(file []byte) bool { return len(file) >= len(magic) && string(file[:len(magic)]) == magic }

// parse is the machine and the weights of a file, of which their data are slices.
func parse(file []byte) (machine string, list []piece, err error) {
	if !Is(file) {
		return "", nil, errForeign
	}
	if len(file) < fixed {
		return "", nil, errDamaged
	}
	n := flatbuffers.GetUint64(file[8:])
	if n < fixed || n > uint64(len(file)) || n%align != 0 || flatbuffers.GetUint32(file[sumAt:]) != crc32.ChecksumIEEE(file[summed:n]) || flatbuffers.GetUint32(file[sumAt+4:]) != 0 {
		return "", nil, errDamaged
	}
	r := reader{b: file[fixed:n]}
	machine, count := string(r.bytes(flatbuffers.GetUint64(file[summed:]))), flatbuffers.GetUint64(file[countAt:])
	if count > n/perRow {
		return "", nil, errDamaged
	}
	data := reader{b: file[n:]}
	list = make([]piece, count)
	for i := range list {
		row := reader{b: r.bytes(perRow)}
		size := row.u64()
		list[i] = piece{string(r.bytes(row.u64())), data.bytes(size)}
		data.bytes(-size & (align - 1))
		r.bad = r.bad || row.bad
	}
	if r.bad || data.bad || len(r.b) >= align || len(data.b) > 0 {
		return "", nil, errDamaged
	}
	return machine, list, nil
}

// reader takes bytes off b; bad says that there were too few.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return flatbuffers.GetUint64(b)
	}
	return 0
}
