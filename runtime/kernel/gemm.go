package kernel

import "math"

// Tile is one block of a matrix product: some rows of the left factor times one panel of the right one.
// Its layout is known to the generator.
//
//	out[r][c] = clamp(start[r][c] + Σ left[r][k] · panel[k][c], Low, High)
type Tile struct {
	Left        *float32 // the first row
	Stride      uintptr  // bytes from a row to the next
	Panel       *float32 // Depth·Segments rows of Cols float32, one after another
	Out         *float32
	OutStride   uintptr // bytes
	Depth       uintptr // float32 in a segment of a row
	Segments    uintptr // at least 1
	Gap         uintptr // bytes from the end of a segment to the start of the next
	Start       *float32
	StartStride uintptr  // bytes; 0 starts all rows alike
	RowStart    *float32 // what all columns of a row start at, instead of Start; or nil
	PanelGap    uintptr  // bytes from the end of a segment's rows of the panel to the start of the next's
	Low, High   float32
	Offsets     *int64   // where each row of the panel lies, in bytes from Panel; nil for one after another. Such a tile has one segment
	Ahead       *float32 // what is fetched from memory on the way, AheadOf(Depth) float32; nil for nothing
	More        uintptr  // how many blocks of as many rows follow, which are computed in the same way; each fetches the same from Ahead. Run may change it
	leftAt      uintptr  // bytes from Left to the block that is being computed, and from Out
	outAt       uintptr
	Lacks       uint32 // a bit for each column that Start and Out do not have, if Gemm.Partial; else, and in scattered tiles, 0
}

// Lacking is Tile.Lacks of a panel with this many columns.
func Lacking(cols int) uint32 { return ^uint32(0) << cols }

// AheadOf is how many float32 a tile of this depth fetches that has a Tile.Ahead.
func AheadOf(depth int) int { return depth / 4 * 32 }

// Unclamped are the bounds of a Tile that is not clamped.
var Unclamped = [2]float32{float32(math.Inf(-1)), float32(math.Inf(1))}

// Gemm are the tiles of products of float32 matrices in one tier. Products are added one after another, each sum
// rounded once, whatever the tile; so results do not depend on how rows are divided.
type Gemm struct {
	// Rows is how many rows a tile has at most, Cols how many columns a panel has, and Narrow a narrow one.
	Rows, Cols, Narrow int
	tier               Tier
}

// Partial reports whether tiles can leave out columns of their panel.
func (g *Gemm) Partial() bool { return g.tier.float() == AVX512 }

// RowPanels is how many panels RunRow takes; the generator's rowPanels.
const RowPanels = 4

// The most rows and columns that tiles of any tier have.
const (
	MaxRows = 12
	MaxCols = 32
)
