package main

// joins are the operators that join, part, repeat, place and pad tensors.
var joins = []kernel{
	moves("Cat", "runCat"),
	moves("Stack", "runStack"),
	moves("SplitCopy", "runSplit"),
	moves("SplitWithSizesCopy", "runSplit"),
	moves("UnbindCopy", "runUnbind"),
	moves("Repeat", "runRepeat"),
	moves("SliceScatter", "runSliceScatter"),
	moves("SelectScatter", "runSelectScatter"),
	moves("ConstantPadNd", "runConstantPad"),
	moves("ReflectionPad1d", "runReflectionPad"),
	moves("ReflectionPad2d", "runReflectionPad"),
	moves("ReflectionPad3d", "runReflectionPad"),
	moves("ReplicationPad1d", "runReplicationPad"),
	moves("ReplicationPad2d", "runReplicationPad"),
	moves("ReplicationPad3d", "runReplicationPad"),
	moves("Roll", "runRoll"),
	moves("PixelShuffle", "runPixelShuffle"),
	moves("PixelUnshuffle", "runPixelUnshuffle"),
	moves("Tril", "runTril"),
	moves("Triu", "runTriu"),
	moves("UpsampleNearest2d", "runUpsampleNearest"),
	numbers("UpsampleBilinear2d", floats, "runUpsampleBilinear"),
	numbers("RepeatInterleave", "i64 i32", "runRepeatInterleave"),
	numbers("EmbeddingByte", floats, "runEmbeddingByte"),
	numbers("EmbeddingByteDtype", floats, "runEmbeddingByte"),
	numbers("Embedding4bit", floats, "runEmbedding4bit"),
	numbers("Embedding4bitDtype", floats, "runEmbedding4bit"),
	numbers("CdistForward", floats, "runCdist"),
}

func init() { files = append(files, file{"zkernels_join.go", joins}) }
