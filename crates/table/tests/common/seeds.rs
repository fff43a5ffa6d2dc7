//! Good tables to start fuzzing from, and words that the formats are sensitive to.

use std::io::Write;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

const CSV: [&str; 6] = [
    "a,b,c\n1,x,2024-01-02\n2.5,\"y, \"\"z\"\"\",\n,NA,2020-02-29 12:30:00\n",
    "a;b\r\n1,5;x\r\n2,25;\"\r\n\"\r\n",
    "1\t2\n3\t4\n",
    "39, State-gov, 77\n50, ?, 83\n",
    "x|y\n-1e-3|inf\n\n+.5|9007199254740993\n",
    "\u{feff}größe,n\n\"ä\n\",1\n",
];

const ARFF: [&str; 3] = [
    "% c\n@RELATION r\n@attribute 'a b' numeric\n@attribute c {x,'y z'}\n@attribute d date 'dd/MM/yy HH:mm'\n@data\n1.5,x,'01/02/20 10:00'\n?,'y z',?\n",
    "@relation r\n@attribute i integer\n@attribute s string\n@attribute n{u,\nv}\n@data\n{0 5, 1 'a\\'b'}\n{}\n{2 v}, {0.5}\n",
    "@relation \"q\"\n@attribute x real\n@attribute y real\n@data\n1\t2\n3 4\n5,6 % z\n",
];

/// The seeds of a target; none if there is no such target.
pub(crate) fn seeds(target: &str) -> Vec<Vec<u8>> {
    let bytes = |texts: &[&str]| texts.iter().map(|t| t.as_bytes().to_vec()).collect::<Vec<_>>();
    match target {
        "csv" => bytes(&CSV),
        "arff" => bytes(&ARFF),
        "gzip" => {
            let zstd = |b: &[u8]| zstd::encode_all(b, 1).expect("memory can be written");
            let texts = bytes(&CSV[..3]);
            let two = [gzip(b"a,b\n1,2\n"), gzip(b"3,4\n")].concat();
            texts
                .iter()
                .map(|t| gzip(t))
                .chain(texts.iter().map(|t| zstd(t)))
                .chain([two])
                .collect()
        }
        "parquet" => {
            let zstd = Compression::ZSTD(ZstdLevel::default());
            [Compression::UNCOMPRESSED, Compression::SNAPPY, zstd].map(parquet).to_vec()
        }
        "arrow" => {
            let batch = batch();
            let mut file =
                FileWriter::try_new(Vec::new(), &batch.schema()).expect("a plain schema");
            file.write(&batch).expect("memory can be written");
            let mut stream =
                StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a plain schema");
            stream.write(&batch).expect("memory can be written");
            vec![
                file.into_inner().expect("memory can be written"),
                stream.into_inner().expect("memory can be written"),
            ]
        }
        _ => Vec::new(),
    }
}

/// Words to be put in.
pub(crate) fn words(target: &str) -> &'static [&'static [u8]] {
    match target {
        "arff" => &[
            b"@attribute ",
            b"@data\n",
            b"{",
            b"}",
            b"'",
            b"\"",
            b"\\",
            b"?",
            b"relational",
            b"date ",
            b"%",
            b"0 ",
            b",",
            b"\\u00e9",
            b"\n",
        ],
        _ => &[
            b"\"",
            b"\"\"",
            b"\r\n",
            b"\r",
            b";",
            b"|",
            b"\t",
            b"NA",
            b"nan",
            b"inf",
            b"1e999",
            b"2024-02-30",
            b"\0",
            b"\xff\xfe",
            b"\xe9",
            b"PAR1",
            b"\x1f\x8b",
            b" ",
            b"-",
        ],
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

fn batch() -> RecordBatch {
    let columns: [(&str, ArrayRef); 5] = [
        ("i", Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]))),
        ("f", Arc::new(Float64Array::from(vec![0.5, 1.5, f64::NAN]))),
        ("s", Arc::new(StringArray::from(vec![Some("a"), Some("bc"), None]))),
        ("b", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("d", Arc::new(["x", "y", "x"].into_iter().collect::<DictionaryArray<Int8Type>>())),
    ];
    RecordBatch::try_from_iter(columns).expect("columns of equal length")
}

fn parquet(compression: Compression) -> Vec<u8> {
    let batch = batch();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("a plain schema");
    writer.write(&batch).expect("memory can be written");
    writer.close().expect("memory can be written");
    bytes
}
