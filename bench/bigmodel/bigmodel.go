// Package bigmodel writes exported PyTorch models (.pt2) of any size, all with the same graph.
package bigmodel

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// layers is the number of square matrices in a model: products with the matrix, and every third with its transpose,
// which lowering folds into the weight.
const layers = 12

// Write makes the model at path, with float32 matrices of about size bytes together. Their values differ, so that no two
// are stored once. The model takes a float32 [1, side] tensor and gives one; side follows from size and is returned.
func Write(path string, size int64) (side int64, err error) { return WriteSeed(path, size, 0) }

// WriteSeed is Write with values that follow from seed.
func WriteSeed(path string, size int64, seed uint32) (side int64, err error) {
	side = max(1, int64(math.Sqrt(float64(size)/(4*layers))))
	f, err := os.Create(path)
	if err != nil {
		return 0, fmt.Errorf("write model: %w", err)
	}
	w := &writer{zip: zip.NewWriter(f)}
	w.text("archive_format", "pt2")
	w.text("archive_version", "0")
	w.text("byteorder", "little")
	w.json("models/model.json", model(side))
	config := map[string]any{}
	for i := range layers {
		config[weight(i)] = map[string]any{"path_name": record(i), "is_param": true, "use_pickle": false, "tensor_meta": meta(side, side)}
		w.matrix("data/weights/"+record(i), side, seed*layers+uint32(i))
	}
	w.json("data/weights/model_weights_config.json", map[string]any{"config": config})
	w.json("data/constants/model_constants_config.json", map[string]any{"config": map[string]any{}})
	if err := errors.Join(w.err, w.zip.Close(), f.Close()); err != nil {
		return 0, fmt.Errorf("write model: %w", err)
	}
	return side, nil
}

func weight(i int) string { return fmt.Sprintf("layer%d.weight", i) }

func record(i int) string { return fmt.Sprintf("weight_%d", i) }

// writer writes stored records and keeps the first error.
type writer struct {
	zip *zip.Writer
	err error
}

func (w *writer) text(name, text string) {
	if w.err != nil {
		return
	}
	var out io.Writer
	if out, w.err = w.zip.CreateHeader(&zip.FileHeader{Name: "model/" + name, Method: zip.Store}); w.err == nil {
		_, w.err = io.WriteString(out, text)
	}
}

func (w *writer) json(name string, value any) {
	text, err := json.Marshal(value)
	if w.err = errors.Join(w.err, err); w.err == nil {
		w.text(name, string(text))
	}
}

// matrix writes side × side numbers between 1 and 2 that follow from seed. All rows are equal but for their first number.
func (w *writer) matrix(name string, side int64, seed uint32) {
	if w.err != nil {
		return
	}
	var out io.Writer
	if out, w.err = w.zip.CreateHeader(&zip.FileHeader{Name: "model/" + name, Method: zip.Store}); w.err != nil {
		return
	}
	row := make([]byte, 4*side)
	for i := range row {
		row[i] = byte(crc32.ChecksumIEEE([]byte{byte(i), byte(i >> 8), byte(i >> 16), byte(seed)}))
	}
	for i := 3; i < len(row); i += 4 {
		row[i-1], row[i] = row[i-1]|0x80, 0x3f
	}
	for i := range side {
		row[0], row[1] = byte(i), byte(i>>8)
		if _, w.err = out.Write(row); w.err != nil {
			return
		}
	}
}
