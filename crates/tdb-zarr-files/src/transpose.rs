//! Axes in another order.

use serde_json::Value;

use crate::error::Problem;

/// The order of axes that a transposition has.
pub(crate) fn order(value: Option<&Value>, axes: usize) -> Result<Vec<usize>, Problem> {
    let wrong = || Problem::damaged("the codec transpose has no order of all axes");
    let order: Vec<usize> = match value {
        Some(Value::String(text)) if text == "C" => (0..axes).collect(),
        Some(Value::String(text)) if text == "F" => (0..axes).rev().collect(),
        Some(Value::Array(list)) => {
            let place = |value: &Value| value.as_u64().and_then(|place| usize::try_from(place).ok());
            list.iter().map(place).collect::<Option<_>>().ok_or_else(wrong)?
        }
        _ => return Err(wrong()),
    };
    let all = order.len() == axes && (0..axes).all(|axis| order.contains(&axis));
    if all { Ok(order) } else { Err(wrong()) }
}

/// The shape that a transposition makes of one.
pub(crate) fn transposed_shape(shape: &[u64], order: &[usize]) -> Option<Vec<u64>> {
    order.iter().map(|axis| shape.get(*axis).copied()).collect()
}

/// Calls a function with the number that each of so many cells has in what a transposition stored,
/// for cells in row-major order of the chunk before it. `None` if the chunk has other cells.
fn for_each_stored(
    shape: &[u64],
    order: &[usize],
    cells: usize,
    mut each: impl FnMut(usize) -> Option<()>,
) -> Option<()> {
    let lengths: Vec<usize> = shape.iter().map(|side| usize::try_from(*side).ok()).collect::<Option<_>>()?;
    // The distance of neighbours along each axis of the chunk in what is stored.
    let mut steps = vec![0usize; lengths.len()];
    let mut step = 1usize;
    for axis in order.iter().rev() {
        *steps.get_mut(*axis)? = step;
        step = step.checked_mul(*lengths.get(*axis)?)?;
    }
    if step != cells {
        return None;
    }
    let mut index = vec![0usize; lengths.len()];
    let mut at = 0usize;
    for _ in 0..cells {
        each(at)?;
        for axis in (0..lengths.len()).rev() {
            let (place, length, step) = (index.get_mut(axis)?, lengths.get(axis)?, steps.get(axis)?);
            *place += 1;
            at += step;
            if *place < *length {
                break;
            }
            at -= *place * step;
            *place = 0;
        }
    }
    Some(())
}

/// Undoes a transposition of cells that have as many bytes each.
pub(crate) fn transposed(stored: &[u8], shape: &[u64], order: &[usize], size: usize) -> Option<Vec<u8>> {
    let cells = stored.len().checked_div(size).filter(|cells| cells * size == stored.len())?;
    let mut out = Vec::with_capacity(stored.len());
    for_each_stored(shape, order, cells, |at| {
        out.extend_from_slice(stored.get(at * size..(at + 1) * size)?);
        Some(())
    })?;
    Some(out)
}

/// Undoes a transposition of texts or bytes of any length.
pub(crate) fn transposed_texts(
    values: &[u8],
    offsets: &[usize],
    shape: &[u64],
    order: &[usize],
) -> Option<(Vec<u8>, Vec<usize>)> {
    let (mut out, mut ends) = (Vec::with_capacity(values.len()), Vec::with_capacity(offsets.len()));
    ends.push(0);
    for_each_stored(shape, order, offsets.len().checked_sub(1)?, |at| {
        out.extend_from_slice(values.get(*offsets.get(at)?..*offsets.get(at + 1)?)?);
        ends.push(out.len());
        Some(())
    })?;
    Some((out, ends))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn axes_are_put_back_in_their_order() {
        // The chunk of shape 2, 3, 2 with the values 0 to 11 is stored as one of shape 2, 2, 3.
        let (shape, order) = ([2, 3, 2], [2, 0, 1]);
        let stored: Vec<u8> = vec![0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11];
        assert_eq!(transposed(&stored, &shape, &order, 1), Some((0..12).collect()));
        let wide: Vec<u8> = stored.iter().flat_map(|value| [*value, value + 100]).collect();
        let expected: Vec<u8> = (0..12).flat_map(|value| [value, value + 100]).collect();
        assert_eq!(transposed(&wide, &shape, &order, 2), Some(expected));
        // Texts of as many bytes as their number.
        let texts: Vec<u8> = stored.iter().flat_map(|len| vec![*len; usize::from(*len)]).collect();
        let mut offsets = vec![0];
        stored.iter().for_each(|len| offsets.push(offsets[offsets.len() - 1] + usize::from(*len)));
        let (values, ends) = transposed_texts(&texts, &offsets, &shape, &order).unwrap();
        assert_eq!(values, (0..12u8).flat_map(|len| vec![len; usize::from(len)]).collect::<Vec<u8>>());
        assert_eq!(ends, (0..=12).map(|at: usize| at * at.saturating_sub(1) / 2).collect::<Vec<usize>>());
    }

    #[test]
    fn chunks_of_another_shape_and_orders_that_are_none_are_refused() {
        assert!(transposed(&[0; 11], &[2, 3, 2], &[2, 0, 1], 1).is_none());
        assert!(transposed(&[0; 11], &[11], &[0], 2).is_none());
        assert!(transposed_texts(&[], &[0; 4], &[2, 2], &[1, 0]).is_none());
        assert!(transposed_texts(&[], &[], &[0, 2], &[1, 0]).is_none());
        assert!(transposed_texts(&[1], &[0, 1, 0, 2, 1], &[2, 2], &[1, 0]).is_none());
        for wrong in [json!([0, 0, 1]), json!([0, 1]), json!([0, 1, 3]), json!("G"), json!(null)] {
            assert!(order(Some(&wrong), 3).is_err(), "{wrong}");
        }
        assert!(order(None, 3).is_err());
        assert_eq!(order(Some(&json!("F")), 3).unwrap(), [2, 1, 0]);
    }
}
