"""Where samples come from: data sets, files of tables and arrays, streams of batches."""
